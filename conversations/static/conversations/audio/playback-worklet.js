/** The loudspeaker's side of the audio thread: a thin shell around `PlaybackQueue`. */

import { loudness } from "./pcm.js";
import { PlaybackQueue } from "./queue.js";

const QUANTUM = 128;
const REPORT_MS = 30;

class Playback extends AudioWorkletProcessor {
  #queue = new PlaybackQueue(sampleRate);
  #sinceReport = 0;

  constructor() {
    super();
    this.port.onmessage = ({ data }) => this.#obey(data);
  }

  /** @param {any} order */
  #obey(order) {
    if (order.type === "push") this.#queue.push(order.chunk);
    else if (order.type === "end") this.#queue.end(order.response);
    else if (order.type === "flush") {
      const cuts = this.#queue.flush(QUANTUM, order.responses);
      this.port.postMessage({ type: "flushed", id: order.id, cuts });
    }
    this.#tell();
  }

  #tell() {
    for (const news of this.#queue.takeNews()) this.port.postMessage(news);
  }

  /**
   * @param {Float32Array[][]} _inputs
   * @param {Float32Array[][]} outputs
   */
  process(_inputs, [channels]) {
    const [first, ...others] = channels;
    this.#queue.render(first);
    for (const other of others) other.set(first);
    this.#tell();
    this.#sinceReport += (first.length * 1000) / sampleRate;
    const position = this.#queue.position;
    if (position && this.#sinceReport >= REPORT_MS) {
      this.#sinceReport = 0;
      this.port.postMessage({ type: "playing", level: loudness(first), ...position });
    }
    return true;
  }
}

registerProcessor("vocero-playback", Playback);
