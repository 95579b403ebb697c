/** Microphone samples at the device's rate in; PCM16 frames of the wire's rate out. */

import { WIRE_RATE, loudness, toInt16 } from "./pcm.js";
import { Resampler } from "./resampler.js";

export const FRAME_MS = 20;

/** @typedef {{samples: Int16Array<ArrayBuffer>, level: number}} Frame */

/** Cuts a stream into frames of 20 ms. */
export class Framer {
  #resampler;
  #size = (WIRE_RATE * FRAME_MS) / 1000;
  #pending = new Float32Array(0);

  /** @param {number} rate the device's, Hz */
  constructor(rate) {
    this.#resampler = new Resampler(rate, WIRE_RATE);
  }

  /**
   * @param {Float32Array} input mono
   * @returns {Frame[]} the frames that became complete
   */
  push(input) {
    const more = this.#resampler.process(input);
    const all = new Float32Array(this.#pending.length + more.length);
    all.set(this.#pending);
    all.set(more, this.#pending.length);
    const frames = [];
    let at = 0;
    for (; at + this.#size <= all.length; at += this.#size) {
      const cut = all.subarray(at, at + this.#size);
      frames.push({ samples: toInt16(cut), level: loudness(cut) });
    }
    this.#pending = all.slice(at);
    return frames;
  }
}
