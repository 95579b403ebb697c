/** A slow tool that nobody can speak of: the page shows it and sounds softly, once each time it is told. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { soundCue } from "../static/conversations/audio/cue.js";
import { Call } from "../static/conversations/call.js";
import { stepChips } from "../static/conversations/chips.js";
import { readFrame } from "../static/conversations/events.js";
import { Store } from "../static/conversations/model.js";

const SLOW = { type: "vocero.tool.progress", call_id: "c1", progress: null, total: null, message: "One moment." };
const STARTED = { type: "tool.started", id: "c1", name: "get_report", label: "Reading a report", at: 0 };

const read = (event) => readFrame(JSON.stringify(event), 0);

class Context {
  currentTime = 2;
  loudest = 0;
  tones = [];
  createGain() {
    const ramp = (level) => (this.loudest = Math.max(this.loudest, level));
    return { gain: { setValueAtTime: ramp, linearRampToValueAtTime: ramp }, connect: (to) => assert.equal(to, "out") };
  }
  createOscillator() {
    const tone = { frequency: {}, connect: (to) => to, start: (at) => (tone.from = at), stop: (at) => (tone.to = at) };
    this.tones.push(tone);
    return tone;
  }
}

test("progress in words alone is the sign of a slow tool, any other is progress", () => {
  assert.deepEqual(read(SLOW), { type: "tool.slow", id: "c1", message: "One moment." });
  assert.equal(read({ ...SLOW, progress: 0.5 }).type, "tool.progress");
  assert.equal(read({ ...SLOW, message: null }).type, "tool.progress");
});

test("a slow tool says so on its chip while it runs", () => {
  const running = stepChips({}, STARTED);
  assert.equal(stepChips(running, read(SLOW)).c1.message, "One moment.");
  const ended = stepChips(running, { type: "tool.completed", id: "c1", name: "", durationMs: 1, sources: [] });
  assert.equal(stepChips(ended, read(SLOW)), ended);
});

test("a slow tool is heard once for each time that it is told", () => {
  let cues = 0;
  const speaker = { cue: () => (cues += 1), end() {}, flush: async () => [], unlock: async () => {} };
  const store = new Store();
  const call = new Call({ store, link: { send: () => true }, speaker, microphone: {} });
  store.watch((event) => call.react(event));
  store.dispatch(STARTED);
  store.dispatch(read(SLOW));
  store.dispatch({ type: "tool.progress", id: "c1", progress: 0.5, message: "half" });
  assert.equal(cues, 1);
});

test("the sound is short, soft and ends by itself", () => {
  const context = new Context();
  const seconds = soundCue(context, "out");
  assert.ok(seconds < 0.5);
  assert.ok(context.loudest <= 0.05);
  assert.ok(context.tones.length > 0);
  for (const { from, to } of context.tones) assert.ok(from >= 2 && to > from && to <= 2 + seconds + 1e-9);
});

test("a tool that is told again after the line was lost runs again on its chip", () => {
  const lost = stepChips(stepChips({}, STARTED), { type: "link.lost" });
  assert.equal(lost.c1.status, "failed");
  const again = stepChips(lost, { ...STARTED, at: 9 });
  assert.deepEqual([again.c1.status, again.c1.code], ["running", ""]);
});
