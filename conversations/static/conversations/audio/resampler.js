/** Changes the rate of a stream of samples: a Kaiser-windowed low-pass polyphase filter. */

const ZERO_CROSSINGS = 24;
const KAISER_BETA = 8;
// The stop band begins at half of the lower rate, so nothing folds back into speech.
const CUTOFF = 0.9;

/**
 * @param {number} a
 * @param {number} b
 * @returns {number}
 */
function gcd(a, b) {
  return b ? gcd(b, a % b) : a;
}

/**
 * The modified Bessel function of order zero.
 * @param {number} x
 */
function bessel(x) {
  let sum = 1;
  let term = 1;
  for (let k = 1; term > 1e-12 * sum; k += 1) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

/**
 * One row of taps per phase, each with a gain of one at 0 Hz.
 * @param {number} up
 * @param {number} down
 * @returns {Float32Array[]}
 */
function phases(up, down) {
  const half = Math.ceil(ZERO_CROSSINGS * Math.max(1, down / up));
  const cutoff = CUTOFF * Math.min(1, up / down);
  const edge = bessel(KAISER_BETA);
  return Array.from({ length: up }, (_, phase) => {
    const row = new Float32Array(2 * half);
    let gain = 0;
    for (let k = 0; k < row.length; k += 1) {
      const distance = k - (half - 1) - phase / up;
      const reach = 1 - (distance / half) ** 2;
      const window = reach > 0 ? bessel(KAISER_BETA * Math.sqrt(reach)) / edge : 0;
      const x = Math.PI * cutoff * distance;
      row[k] = window * (Math.abs(x) < 1e-9 ? 1 : Math.sin(x) / x);
      gain += row[k];
    }
    return row.map((tap) => tap / gain);
  });
}

/** Keeps its place between calls: chunking never changes the result. */
export class Resampler {
  #up;
  #down;
  #rows;
  #line;
  #phase = 0;

  /**
   * @param {number} from rate of what comes in, Hz
   * @param {number} to rate of what goes out, Hz
   */
  constructor(from, to) {
    const common = gcd(from, to);
    this.#up = to / common;
    this.#down = from / common;
    this.#rows = phases(this.#up, this.#down);
    this.#line = new Float32Array(this.#rows[0].length / 2 - 1);
  }

  /**
   * @param {Float32Array} input
   * @returns {Float32Array}
   */
  process(input) {
    const line = new Float32Array(this.#line.length + input.length);
    line.set(this.#line);
    line.set(input, this.#line.length);
    const taps = this.#rows[0].length;
    const out = [];
    let start = 0;
    while (start + taps <= line.length) {
      const row = this.#rows[this.#phase];
      let sum = 0;
      for (let k = 0; k < taps; k += 1) sum += row[k] * line[start + k];
      out.push(sum);
      this.#phase += this.#down;
      start += Math.floor(this.#phase / this.#up);
      this.#phase %= this.#up;
    }
    this.#line = line.slice(start);
    return Float32Array.from(out);
  }
}
