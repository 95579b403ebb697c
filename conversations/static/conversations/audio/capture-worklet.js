/** The microphone's side of the audio thread: a thin shell around `Framer`. */

import { Framer } from "./framer.js";

/**
 * @param {Float32Array[]} channels at least one
 * @returns {Float32Array}
 */
function mono(channels) {
  if (channels.length === 1) return channels[0];
  return channels[0].map((_, i) => channels.reduce((sum, channel) => sum + channel[i], 0) / channels.length);
}

class Capture extends AudioWorkletProcessor {
  #framer = new Framer(sampleRate);
  #open = true;

  constructor() {
    super();
    this.port.onmessage = () => {
      this.#open = false;
    };
  }

  /** @param {Float32Array[][]} inputs */
  process([channels]) {
    if (channels.length) {
      for (const { samples, level } of this.#framer.push(mono(channels))) {
        this.port.postMessage({ samples, level }, [samples.buffer]);
      }
    }
    return this.#open;
  }
}

registerProcessor("vocero-capture", Capture);
