/** The microphone: permission, capture, and why it did not work. */

/**
 * @typedef {import("../types.js").MicrophoneProblem} MicrophoneProblem
 * @typedef {{onFrame: (samples: Int16Array, level: number) => void, onLost: () => void}} Listener
 */

/** Carries one of the six reasons. */
export class MicrophoneError extends Error {
  /** @param {MicrophoneProblem} problem */
  constructor(problem) {
    super(problem);
    this.problem = problem;
  }
}

const START_MS = 4000;
const WANTED = { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 };

/** @type {Record<string, MicrophoneProblem>} */
const REASONS = {
  NotAllowedError: "denied",
  SecurityError: "denied",
  NotFoundError: "missing",
  NotReadableError: "busy",
  AbortError: "busy",
};

/**
 * @param {unknown} error what `getUserMedia` or the audio context threw
 * @returns {MicrophoneProblem}
 */
export function problemOf(error) {
  if (error instanceof MicrophoneError) return error.problem;
  return (error instanceof Error && REASONS[error.name]) || "unsupported";
}

/**
 * @param {string} id of the microphone, empty for the default one
 * @returns {Promise<MediaStream>} from another one where that one is not there
 */
async function ask(id) {
  if (!globalThis.isSecureContext || !navigator.mediaDevices) throw new MicrophoneError("insecure");
  if (!globalThis.AudioWorkletNode) throw new MicrophoneError("unsupported");
  const chosen = id ? [{ ...WANTED, deviceId: { exact: id } }] : [];
  for (const audio of [...chosen, WANTED]) {
    try {
      return await navigator.mediaDevices.getUserMedia({ audio });
    } catch (error) {
      const gone = audio !== WANTED && problemOf(error) === "missing";
      if (!gone && !(error instanceof Error && error.name === "OverconstrainedError")) throw error;
    }
  }
  return navigator.mediaDevices.getUserMedia({ audio: true });
}

/**
 * The device's own rate: Firefox refuses to join a microphone to a context of another rate.
 * @param {MediaStream} stream
 * @returns {{context: AudioContext, source: MediaStreamAudioSourceNode}}
 */
function join(stream) {
  const context = new AudioContext({ latencyHint: "interactive" });
  try {
    return { context, source: context.createMediaStreamSource(stream) };
  } catch (error) {
    void context.close();
    const { sampleRate } = stream.getAudioTracks()[0].getSettings();
    if (!sampleRate) throw error;
    const second = new AudioContext({ latencyHint: "interactive", sampleRate });
    return { context: second, source: second.createMediaStreamSource(stream) };
  }
}

/** One at a time; `close` also ends an opening that still waits for the person's answer. */
export class Microphone {
  #worklet;
  #listener;
  #opening = 0;
  /** @type {MediaStream | null} */
  #stream = null;
  /** @type {AudioContext | null} */
  #context = null;

  /**
   * @param {string} worklet address of the capture worklet
   * @param {Listener} listener
   */
  constructor(worklet, listener) {
    this.#worklet = worklet;
    this.#listener = listener;
  }

  /** True when the browser removes its own loudspeaker from what it hears. */
  get cancelsEcho() {
    return this.#stream?.getAudioTracks()[0].getSettings().echoCancellation !== false;
  }

  /** What it hears through; the label is empty where the browser does not tell it. */
  get using() {
    const track = this.#stream?.getAudioTracks()[0];
    return { id: track?.getSettings().deviceId ?? "", label: track?.label ?? "" };
  }

  /** @returns {Promise<PermissionState | "unknown">} whether the browser lets this page hear without asking */
  async permission() {
    try {
      const name = /** @type {PermissionName} */ ("microphone");
      return (await navigator.permissions.query({ name })).state;
    } catch {
      return "unknown";
    }
  }

  /**
   * @param {string} id of the microphone, empty for the default one
   * @returns {Promise<boolean>} false when it was closed meanwhile
   * @throws {MicrophoneError}
   */
  async open(id) {
    this.close();
    const mine = this.#opening;
    try {
      const stream = await ask(id);
      if (mine !== this.#opening) {
        stream.getTracks().forEach((track) => track.stop());
        return false;
      }
      this.#stream = stream;
      await this.#start(stream);
      return mine === this.#opening;
    } catch (error) {
      if (mine !== this.#opening) return false;
      this.close();
      throw new MicrophoneError(problemOf(error));
    }
  }

  /** @param {MediaStream} stream */
  async #start(stream) {
    const { context, source } = join(stream);
    this.#context = context;
    await context.audioWorklet.addModule(this.#worklet);
    if (this.#context !== context) return;
    const node = new AudioWorkletNode(context, "vocero-capture");
    node.port.onmessage = ({ data }) => {
      if (this.#context === context) this.#listener.onFrame(data.samples, data.level);
    };
    // Silent, but a node that leads nowhere is not run by every browser.
    source.connect(node).connect(context.destination);
    stream.getAudioTracks()[0].onended = () => {
      if (this.#stream !== stream) return;
      this.close();
      this.#listener.onLost();
    };
    // A device that something else holds may leave this unanswered for ever.
    await Promise.race([context.resume(), new Promise((resolve) => setTimeout(resolve, START_MS))]);
    if (context.state === "suspended") throw new MicrophoneError("busy");
  }

  /** @param {boolean} muted while muted, silence is captured, so that a begun sentence still ends */
  mute(muted) {
    this.#stream?.getAudioTracks().forEach((track) => {
      track.enabled = !muted;
    });
  }

  /** The device may have slept. */
  wake() {
    if (this.#context && this.#context.state !== "running") void this.#context.resume();
  }

  close() {
    this.#opening += 1;
    this.#stream?.getTracks().forEach((track) => track.stop());
    this.#stream = null;
    void this.#context?.close();
    this.#context = null;
  }
}
