/** Sound keeps its pitch and its length through the capture path. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { FRAME_MS, Framer } from "../static/conversations/audio/framer.js";
import { Resampler } from "../static/conversations/audio/resampler.js";
import { decodePcm, encodeBase64, toFloat, toInt16 } from "../static/conversations/audio/pcm.js";

const tone = (hz, rate, seconds, size = 0.5) =>
  Float32Array.from({ length: Math.round(rate * seconds) }, (_, i) => size * Math.sin((2 * Math.PI * hz * i) / rate));

/** Strength of one frequency, 0…1 (Goertzel). */
function strength(samples, hz, rate) {
  const w = (2 * Math.PI * hz) / rate;
  let [a, b] = [0, 0];
  for (const sample of samples) [a, b] = [sample + 2 * Math.cos(w) * a - b, a];
  return (2 * Math.sqrt(a * a + b * b - 2 * Math.cos(w) * a * b)) / samples.length;
}

function captured(hz, rate, seconds) {
  const framer = new Framer(rate);
  const input = tone(hz, rate, seconds);
  const frames = [];
  for (let at = 0; at < input.length; at += 128) frames.push(...framer.push(input.subarray(at, at + 128)));
  return frames;
}

for (const rate of [8000, 16000, 22050, 44100, 48000, 96000]) {
  test(`a tone of 1 kHz at ${rate} Hz arrives as 1 kHz at 24 kHz with its length (case 154)`, () => {
    const frames = captured(1000, rate, 1);
    const ms = frames.length * FRAME_MS;
    assert.ok(ms >= 980 && ms <= 1000, `${ms} ms`);
    assert.ok(frames.every((frame) => frame.samples.length === 480));
    const sound = Float32Array.from(frames.flatMap((frame) => [...toFloat(frame.samples)])).subarray(480);
    assert.ok(Math.abs(strength(sound, 1000, 24000) - 0.5) < 0.02);
    assert.ok(strength(sound, 2000, 24000) < 0.01);
  });
}

test("what the wire cannot carry does not fold back into speech", () => {
  const out = new Resampler(48000, 24000).process(tone(15000, 48000, 0.5));
  assert.ok(strength(out.subarray(200), 9000, 24000) < 0.001);
});

test("chunking never changes the result", () => {
  const input = tone(440, 44100, 0.2);
  const whole = new Resampler(44100, 24000).process(input);
  const resampler = new Resampler(44100, 24000);
  const pieces = [];
  for (let at = 0, size = 1; at < input.length; at += size, size = (size * 7) % 311 || 1) {
    pieces.push(...resampler.process(input.subarray(at, at + size)));
  }
  assert.deepEqual(Float32Array.from(pieces), whole);
});

test("the level of a frame is the loudness of its sound", () => {
  const [, frame] = captured(1000, 48000, 0.1);
  assert.ok(Math.abs(frame.level - 0.5 / Math.SQRT2) < 0.01);
});

test("samples survive the wire, and what lies outside is clipped", () => {
  const samples = toInt16(Float32Array.from([0, 0.5, -0.5, 1, -1, 3, -3]));
  assert.deepEqual([...samples], [0, 16384, -16384, 32767, -32768, 32767, -32768]);
  assert.deepEqual(decodePcm(encodeBase64(new Uint8Array(samples.buffer))), samples);
});

test("text that is not base64 is no sound", () => {
  assert.equal(decodePcm("%%%").length, 0);
});

/** How loud it comes out, in decibels beside how loud it went in; the filter's run-in is left out. */
function gainOf(hz, from, to, heard = hz) {
  const out = new Resampler(from, to).process(tone(hz, from, 0.25)).subarray(Math.round(to * 0.02));
  // Without a window the tone itself would be found beside its place.
  const smooth = out.map((sample, i) => sample * (1 - Math.cos((2 * Math.PI * i) / out.length)));
  return 20 * Math.log10(strength(smooth, heard, to) / 0.5 + 1e-9);
}

for (const rate of [44100, 48000, 96000]) {
  test(`nothing above 12 kHz at ${rate} Hz folds back louder than 60 dB below (case 154)`, () => {
    for (let hz = 12_100; hz < Math.min(rate / 2, 23_900); hz += 400) {
      const gain = gainOf(hz, rate, 24000, 24000 - hz);
      assert.ok(gain < -60, `${hz} Hz comes back with ${gain.toFixed(1)} dB`);
    }
  });
}

for (const rate of [8000, 16000]) {
  test(`no mirror image of speech at ${rate} Hz is louder than 60 dB below (case 154)`, () => {
    for (let hz = 100; hz < rate / 2 - 400; hz += 300) {
      const gain = gainOf(hz, rate, 24000, Math.min(rate - hz, 24000 - (rate - hz)));
      assert.ok(gain < -60, `${hz} Hz has an image of ${gain.toFixed(1)} dB`);
    }
  });
}

const INTO_THE_WIRE = [8000, 16000, 22050, 44100, 48000, 96000].map((rate) => [rate, 24000]);
const OUT_OF_IT = [44100, 48000].map((rate) => [24000, rate]);

for (const [from, to] of [...INTO_THE_WIRE, ...OUT_OF_IT]) {
  test(`speech passes evenly from ${from} to ${to} Hz`, () => {
    const edge = 0.75 * (Math.min(from, to) / 2);
    for (let hz = 120; hz < edge; hz += edge / 12) {
      const gain = gainOf(hz, from, to);
      assert.ok(Math.abs(gain) < 0.1, `${hz.toFixed(0)} Hz changes by ${gain.toFixed(3)} dB`);
    }
  });
}
