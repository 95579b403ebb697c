/** The playback queue: order, ramps, silence at once, and what was heard. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { PlaybackQueue } from "../static/conversations/audio/queue.js";

const RATE = 48000;
const QUANTUM = 128;

/** A chunk of constant loudness, so that gaps and clicks are seen. */
const chunk = (ms, { response = "r1", item = "i1", value = 16000 } = {}) => ({
  response,
  item,
  content: 0,
  samples: new Int16Array((24000 * ms) / 1000).fill(value),
});

function render(queue, ms) {
  const out = new Float32Array(Math.floor((RATE * ms) / 1000 / QUANTUM) * QUANTUM);
  for (let at = 0; at < out.length; at += QUANTUM) queue.render(out.subarray(at, at + QUANTUM));
  return out;
}

const steepest = (samples) =>
  samples.reduce((most, value, i) => Math.max(most, Math.abs(value - (samples[i - 1] ?? value))), 0);
const types = (queue) => queue.takeNews().map((news) => news.type);

test("sound comes out at the device's rate with its length", () => {
  const queue = new PlaybackQueue(RATE);
  queue.push(chunk(200));
  queue.end("r1");
  const out = render(queue, 400);
  const loud = out.filter((value) => Math.abs(value) > 0.4).length / RATE;
  assert.ok(Math.abs(loud - 0.195) < 0.01, `${loud} s`);
  assert.deepEqual(queue.takeNews(), [
    { type: "started" },
    { type: "finished", item: "i1", content: 0, playedMs: 200 },
    { type: "drained" },
  ]);
});

test("8 buffered seconds are silent one quantum after a flush, and the rest is reported (case 163)", () => {
  const queue = new PlaybackQueue(RATE);
  for (let i = 0; i < 80; i += 1) queue.push(chunk(100));
  render(queue, 1000);
  const [cut] = queue.flush(QUANTUM, ["r1"]);
  assert.ok(Math.abs(cut.playedMs - 1000) < 15, `${cut.playedMs} ms`);
  assert.equal(cut.receivedMs, 8000);
  const out = render(queue, 500);
  assert.ok(out.subarray(QUANTUM).every((value) => value === 0));
  assert.ok(steepest(out) < 0.02, "the last quantum fades");
});

test("late chunks of a flushed response are dropped, those of the next one play", () => {
  const queue = new PlaybackQueue(RATE);
  queue.push(chunk(500));
  render(queue, 100);
  queue.flush(QUANTUM, []);
  queue.push(chunk(500));
  assert.ok(
    render(queue, 600)
      .subarray(QUANTUM)
      .every((value) => value === 0),
  );
  queue.push(chunk(200, { response: "r2", item: "i2" }));
  assert.ok(render(queue, 300).some((value) => value > 0.4));
});

test("a response that had no sound yet is dropped too", () => {
  const queue = new PlaybackQueue(RATE);
  assert.deepEqual(queue.flush(QUANTUM, ["r9"]), []);
  queue.push(chunk(300, { response: "r9" }));
  assert.ok(render(queue, 400).every((value) => value === 0));
});

test("items play one after the other and each is counted by itself", () => {
  const queue = new PlaybackQueue(RATE);
  queue.push(chunk(100, { item: "a" }));
  queue.push(chunk(100, { item: "b" }));
  render(queue, 150);
  const cuts = queue.flush(QUANTUM, []);
  assert.deepEqual(
    cuts.map((cut) => cut.item),
    ["b"],
  );
  assert.ok(cuts[0].playedMs > 40 && cuts[0].playedMs < 70);
});

test("an answer that was heard to its end is not cut", () => {
  const queue = new PlaybackQueue(RATE);
  queue.push(chunk(100));
  queue.end("r1");
  render(queue, 300);
  assert.deepEqual(queue.flush(QUANTUM, ["r1"]), []);
});

test("a little sound waits for more, but not for ever", () => {
  const queue = new PlaybackQueue(RATE);
  queue.push(chunk(20));
  assert.ok(render(queue, 150).every((value) => value === 0));
  assert.ok(render(queue, 200).some((value) => value > 0.4));
});

test("an uneven network makes pauses, not clicks", () => {
  const queue = new PlaybackQueue(RATE);
  queue.push(chunk(100));
  const before = render(queue, 200);
  queue.push(chunk(100));
  queue.end("r1");
  const after = render(queue, 300);
  assert.ok(after.some((value) => value > 0.4));
  assert.ok(steepest([...before, ...after]) < 0.03);
});

test("a flood of sound is bounded", () => {
  const queue = new PlaybackQueue(RATE);
  const minute = chunk(60_000);
  for (let i = 0; i < 15; i += 1) queue.push({ ...minute });
  assert.ok(types(queue).includes("overflow"));
});
