/** The loudspeaker: plays answers, stops at once, and knows what was heard. */

import { CLEAR, soundCue } from "./cue.js";

/**
 * @typedef {import("./queue.js").Chunk} Chunk
 * @typedef {import("./queue.js").Cut} Cut
 * @typedef {object} Hearer
 * @property {(playing: boolean) => void} onPlaying
 * @property {(level: number, item: string, content: number, playedMs: number) => void} onProgress
 * @property {(item: string, content: number, playedMs: number) => void} onFinished
 * @property {(blocked: boolean) => void} onBlocked
 */

const ANSWER_MS = 300;
const RESUME_MS = 400;
const WAITING_LIMIT = 3000;

/** @param {number} ms */
const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Through an <audio> element, which the echo canceller and the output picker know; else straight out.
 * @param {AudioContext} context
 * @param {AudioNode} node
 * @param {HTMLAudioElement} element
 * @returns {AudioNode} where sound leaves
 */
function route(context, node, element) {
  const exit = context.createMediaStreamDestination();
  node.connect(exit);
  element.srcObject = exit.stream;
  return exit;
}

/** Makes its audio context on first use; a browser may want a press of the person before that. */
export class Speaker {
  #worklet;
  #element;
  #hearer;
  /** @type {AudioContext | null} */
  #context = null;
  /** @type {AudioWorkletNode | null} */
  #node = null;
  /** @type {AudioNode | null} */
  #exit = null;
  /** @type {any[]} */
  #waiting = [];
  /** @type {Map<number, (cuts: Cut[]) => void>} */
  #flushes = new Map();
  #flushId = 0;
  #broken = false;

  /**
   * @param {string} worklet address of the playback worklet
   * @param {HTMLAudioElement} element
   * @param {Hearer} hearer
   */
  constructor(worklet, element, hearer) {
    this.#worklet = worklet;
    this.#element = element;
    this.#hearer = hearer;
    // A phone does so when its headphones are pulled out.
    element.onpause = () => {
      if (this.#context && this.#exit !== this.#context.destination) this.#hold();
    };
  }

  /** Call it from a press or a key: only then may a page make sound. */
  async unlock() {
    if (!globalThis.AudioWorkletNode) return;
    if (!this.#context) await this.#make();
    await this.#wake();
  }

  /** @param {Chunk} chunk */
  play(chunk) {
    this.#order({ type: "push", chunk });
    if (!this.#context && !this.#broken) void this.unlock();
  }

  /** A soft sign beside the answers, where sound is on. */
  cue() {
    this.#sound();
  }

  /** Lets the person hear where the sound comes from. */
  async test() {
    await this.unlock();
    this.#sound(CLEAR);
  }

  /** Whether the browser lets the page choose. */
  get canChoose() {
    return "setSinkId" in this.#element;
  }

  /**
   * @param {string} id of the loudspeaker, empty for the default one
   * @returns {Promise<boolean>} false where it cannot be had; the one before stays
   */
  async choose(id) {
    if (!this.canChoose) return !id;
    return this.#element.setSinkId(id).then(
      () => true,
      () => false,
    );
  }

  /** @param {number} [loudest] */
  #sound(loudest) {
    if (this.#context?.state === "running" && this.#exit) soundCue(this.#context, this.#exit, loudest);
  }

  /** @param {string} [response] nothing more comes for it; without it, for any */
  end(response) {
    this.#order({ type: "end", response });
  }

  /**
   * @param {string[]} responses those under way
   * @returns {Promise<Cut[]>} what was not heard to its end
   */
  flush(responses) {
    if (!this.#node) return Promise.resolve(this.#flushWaiting(responses));
    const id = (this.#flushId += 1);
    this.#order({ type: "flush", id, responses });
    return new Promise((resolve) => {
      // A context that sleeps may not answer; nobody waits for it.
      const timer = setTimeout(() => this.#flushed(id, []), ANSWER_MS);
      this.#flushes.set(id, (cuts) => {
        clearTimeout(timer);
        resolve(cuts);
      });
    });
  }

  /** For good. */
  close() {
    this.#broken = true;
    this.#waiting = [];
    this.#node?.disconnect();
    this.#node = null;
    this.#element.onpause = this.#element.srcObject = null;
    for (const id of [...this.#flushes.keys()]) this.#flushed(id, []);
    void this.#context?.close();
    this.#context = this.#exit = null;
  }

  /**
   * @param {string[]} under
   * @returns {Cut[]}
   */
  #flushWaiting(under) {
    const cuts = new Map();
    const responses = new Set(under);
    for (const { chunk } of this.#waiting.filter((order) => order.type === "push")) {
      const { response, item, content, samples } = chunk;
      const cut = cuts.get(item) ?? { response, item, content, playedMs: 0, receivedMs: 0 };
      cut.receivedMs += Math.round(samples.length / 24);
      cuts.set(item, cut);
      responses.add(response);
    }
    this.#waiting = [{ type: "flush", id: 0, responses: [...responses] }];
    return [...cuts.values()];
  }

  /** @param {any} order */
  #order(order) {
    if (this.#node) this.#node.port.postMessage(order);
    else if (this.#waiting.length < WAITING_LIMIT) this.#waiting.push(order);
  }

  async #make() {
    const context = new AudioContext({ latencyHint: "interactive" });
    this.#context = context;
    try {
      await context.audioWorklet.addModule(this.#worklet);
    } catch {
      if (this.#context !== context) return;
      this.#broken = true;
      this.#context = null;
      void context.close();
      this.#hearer.onBlocked(true);
      return;
    }
    if (this.#context !== context) return;
    this.#broken = false;
    const node = new AudioWorkletNode(context, "vocero-playback", { numberOfInputs: 0, outputChannelCount: [1] });
    node.port.onmessage = ({ data }) => this.#hear(data);
    this.#node = node;
    this.#exit = route(context, node, this.#element);
    for (const order of this.#waiting.splice(0)) this.#order(order);
  }

  async #wake() {
    const context = this.#context;
    if (!context || !this.#node) return;
    try {
      // Without a press `resume` may stay unanswered for ever.
      await Promise.race([context.resume(), after(RESUME_MS)]);
      if (this.#exit !== context.destination && this.#element.paused) await this.#start(context, this.#node);
      this.#hearer.onBlocked(context.state === "suspended");
    } catch {
      this.#hold();
    }
  }

  /** Nobody would hear it: the answer waits where it is. */
  #hold() {
    void this.#context?.suspend();
    this.#hearer.onBlocked(true);
  }

  /**
   * @param {AudioContext} context
   * @param {AudioNode} node
   */
  async #start(context, node) {
    try {
      await this.#element.play();
    } catch (error) {
      if (error instanceof Error && (error.name === "NotAllowedError" || error.name === "AbortError")) throw error;
      node.disconnect();
      this.#exit = context.destination;
      this.#element.srcObject = null;
      node.connect(context.destination);
    }
  }

  /** @param {any} news */
  #hear(news) {
    if (news.type === "flushed") this.#flushed(news.id, news.cuts);
    else if (news.type === "started") this.#hearer.onPlaying(true);
    else if (news.type === "drained") this.#hearer.onPlaying(false);
    else if (news.type === "finished") this.#hearer.onFinished(news.item, news.content, news.playedMs);
    else if (news.type === "playing") this.#hearer.onProgress(news.level, news.item, news.content, news.playedMs);
  }

  /**
   * @param {number} id
   * @param {Cut[]} cuts
   */
  #flushed(id, cuts) {
    this.#flushes.get(id)?.(cuts);
    this.#flushes.delete(id);
  }
}
