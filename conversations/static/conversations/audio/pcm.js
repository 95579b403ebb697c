/** Sample formats: 32-bit floats, 16-bit PCM, base64. */

/** The wire's rate: PCM16 mono at 24 kHz. */
export const WIRE_RATE = 24000;

/**
 * @param {Float32Array} samples in -1…1; what lies outside is clipped
 * @returns {Int16Array<ArrayBuffer>}
 */
export function toInt16(samples) {
  const out = new Int16Array(samples.length);
  for (let i = 0; i < samples.length; i += 1) {
    const value = Math.max(-1, Math.min(1, samples[i]));
    out[i] = Math.round(value < 0 ? value * 32768 : value * 32767);
  }
  return out;
}

/**
 * @param {Int16Array} samples
 * @returns {Float32Array}
 */
export function toFloat(samples) {
  const out = new Float32Array(samples.length);
  for (let i = 0; i < samples.length; i += 1) out[i] = samples[i] / 32768;
  return out;
}

/**
 * Root mean square, 0…1.
 * @param {Float32Array} samples
 */
export function loudness(samples) {
  let sum = 0;
  for (let i = 0; i < samples.length; i += 1) sum += samples[i] * samples[i];
  return samples.length ? Math.sqrt(sum / samples.length) : 0;
}

/**
 * @param {Uint8Array} bytes
 * @returns {string} base64
 */
export function encodeBase64(bytes) {
  let binary = "";
  // Spread in slices: a long argument list overflows the stack.
  for (let at = 0; at < bytes.length; at += 4096) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 4096));
  }
  return btoa(binary);
}

/**
 * @param {string} text base64 of little-endian PCM16; a half sample at the end is dropped
 * @returns {Int16Array<ArrayBuffer>} empty when the text is not base64
 */
export function decodePcm(text) {
  let binary;
  try {
    binary = atob(text);
  } catch {
    return new Int16Array(0);
  }
  const out = new Int16Array(binary.length >> 1);
  for (let i = 0; i < out.length; i += 1) {
    out[i] = binary.charCodeAt(2 * i) | (binary.charCodeAt(2 * i + 1) << 8);
  }
  return out;
}
