/** What is still to be heard, per item: sound in at the wire's rate, quanta out at the device's. No clock, no I/O. */

import { WIRE_RATE, toFloat } from "./pcm.js";
import { Resampler } from "./resampler.js";

const PREBUFFER_MS = 60;
const PATIENCE_MS = 240;
const RAMP_MS = 4;
const LIMIT_MS = 600_000;
const BLOCK = 64;
const REMEMBERED = 64;

/**
 * @typedef {{response: string, item: string, content: number, samples: Int16Array}} Chunk
 * @typedef {{response: string, item: string, content: number, playedMs: number, receivedMs: number}} Cut
 * @typedef {{type: "finished", item: string, content: number, playedMs: number}} Finished
 * @typedef {{type: "started" | "drained" | "overflow"} | Finished} QueueNews
 * @typedef {object} Lane
 * @property {string} response
 * @property {string} item
 * @property {number} content
 * @property {Int16Array[]} chunks still to be played
 * @property {number} received samples
 * @property {number} played samples
 * @property {boolean} ended nothing more comes
 */

/** @param {number} samples */
const toMs = (samples) => Math.round((samples * 1000) / WIRE_RATE);

/** Plays items in the order in which they came; a cut response stays cut. */
export class PlaybackQueue {
  /** @type {Lane[]} */
  #lanes = [];
  /** @type {string[]} */
  #cutResponses = [];
  /** @type {QueueNews[]} */
  #news = [];
  /** @type {Float32Array | null} */
  #tail = null;
  #ready = new Float32Array(0);
  #buffered = 0;
  #gain = 0;
  #waitedMs = 0;
  #running = false;
  #rate;
  #resampler;

  /** @param {number} rate the device's, Hz */
  constructor(rate) {
    this.#rate = rate;
    this.#resampler = new Resampler(WIRE_RATE, rate);
  }

  /** @param {Chunk} chunk dropped when its response was cut */
  push({ response, item, content, samples }) {
    if (this.#cutResponses.includes(response) || !samples.length) return;
    if (toMs(this.#buffered) > LIMIT_MS) {
      this.#news.push({ type: "overflow" });
      return;
    }
    let lane = this.#lanes.find((l) => l.item === item && l.content === content);
    if (!lane) {
      lane = { response, item, content, chunks: [], received: 0, played: 0, ended: false };
      this.#lanes.push(lane);
    }
    lane.chunks.push(samples);
    lane.received += samples.length;
    this.#buffered += samples.length;
  }

  /** @param {string} [response] nothing more comes for it; without it, for any */
  end(response) {
    for (const lane of this.#lanes) {
      if (response === undefined || lane.response === response) lane.ended = true;
    }
    this.#retire();
  }

  /**
   * Silence from the next quantum on; one quantum of fading avoids a click.
   * @param {number} quantum samples of one quantum
   * @param {string[]} responses those under way, with or without sound so far
   * @returns {Cut[]} items that were not heard to their end
   */
  flush(quantum, responses) {
    if (this.#running) {
      this.#tail = new Float32Array(quantum);
      this.#fade(this.#tail, this.#pull(this.#tail), 0);
    }
    const cuts = this.#lanes
      .filter((lane) => !lane.ended || lane.played < lane.received)
      .map(({ response, item, content, played, received }) => {
        return { response, item, content, playedMs: toMs(played), receivedMs: toMs(received) };
      });
    const cut = [...this.#cutResponses, ...this.#lanes.map((lane) => lane.response), ...responses];
    this.#cutResponses = [...new Set(cut)].slice(-REMEMBERED);
    if (this.#lanes.length) this.#news.push({ type: "drained" });
    this.#lanes = [];
    this.#buffered = 0;
    this.#ready = new Float32Array(0);
    this.#stop();
    return cuts;
  }

  /** @param {Float32Array} out one quantum, filled whole */
  render(out) {
    out.fill(0);
    if (this.#tail) {
      out.set(this.#tail.subarray(0, out.length));
      this.#tail = null;
      return;
    }
    if (!this.#running && !this.#mayStart(out.length)) return;
    if (!this.#running) this.#news.push({ type: "started" });
    this.#running = true;
    const filled = this.#pull(out);
    const left = this.#ready.length + Math.floor((this.#buffered * this.#rate) / WIRE_RATE);
    if (filled < out.length) {
      this.#fade(out, filled, 0);
      this.#stop();
    } else if (left < out.length) {
      // The last whole quantum, as it seems: what is left may be too short for a fade of its own.
      this.#fade(out, filled, (this.#gain * left) / (left + filled));
    } else {
      this.#fadeIn(out);
    }
    this.#retire();
  }

  /** @returns {QueueNews[]} what happened since the last call */
  takeNews() {
    return this.#news.splice(0);
  }

  /** @returns {{item: string, content: number, playedMs: number} | null} where playback stands */
  get position() {
    const lane = this.#lanes[0];
    return lane ? { item: lane.item, content: lane.content, playedMs: toMs(lane.played) } : null;
  }

  /**
   * A little sound is collected first, so that an uneven network does not tear words; not for ever.
   * @param {number} quantum
   */
  #mayStart(quantum) {
    if (!this.#buffered) return false;
    this.#waitedMs += (quantum * 1000) / this.#rate;
    const complete = this.#lanes.every((lane) => lane.ended);
    return complete || toMs(this.#buffered) >= PREBUFFER_MS || this.#waitedMs >= PATIENCE_MS;
  }

  #stop() {
    this.#running = false;
    this.#gain = 0;
    this.#waitedMs = 0;
  }

  /**
   * @param {Float32Array} out
   * @returns {number} samples written
   */
  #pull(out) {
    while (this.#ready.length < out.length) {
      const block = this.#take();
      if (!block) break;
      const more = this.#resampler.process(toFloat(block));
      const joined = new Float32Array(this.#ready.length + more.length);
      joined.set(this.#ready);
      joined.set(more, this.#ready.length);
      this.#ready = joined;
    }
    const filled = Math.min(out.length, this.#ready.length);
    out.set(this.#ready.subarray(0, filled));
    this.#ready = this.#ready.slice(filled);
    return filled;
  }

  /** @returns {Int16Array | null} the next few samples of the first item that has any */
  #take() {
    const lane = this.#lanes.find((l) => l.chunks.length);
    if (!lane) return null;
    const [first] = lane.chunks;
    const block = first.subarray(0, BLOCK);
    if (first.length > BLOCK) lane.chunks[0] = first.subarray(BLOCK);
    else lane.chunks.shift();
    lane.played += block.length;
    this.#buffered -= block.length;
    return block;
  }

  /** Forgets items that were heard to their end. */
  #retire() {
    while (this.#lanes.length) {
      const [lane, next] = this.#lanes;
      if (lane.chunks.length || !(lane.ended || next)) return;
      this.#lanes.shift();
      this.#news.push({ type: "finished", item: lane.item, content: lane.content, playedMs: toMs(lane.played) });
      if (!next) this.#news.push({ type: "drained" });
    }
  }

  /** @param {Float32Array} out */
  #fadeIn(out) {
    const step = 1000 / (RAMP_MS * this.#rate);
    for (let i = 0; i < out.length && this.#gain < 1; i += 1) {
      out[i] *= this.#gain;
      this.#gain = Math.min(1, this.#gain + step);
    }
  }

  /**
   * @param {Float32Array} out
   * @param {number} filled samples of it that sound
   * @param {number} gain at the last of them
   */
  #fade(out, filled, gain) {
    const step = (this.#gain - gain) / Math.max(1, filled);
    for (let i = 0; i < filled; i += 1) {
      this.#gain -= step;
      out[i] *= this.#gain;
    }
  }
}
