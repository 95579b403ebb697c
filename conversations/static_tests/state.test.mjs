/** The state of the call: from what happened to the one phase on the screen. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { FIRST_CALL, phaseOf, step } from "../static/conversations/state.js";

const OPEN = ["link.connecting", "link.ready"];
const LISTENING = [...OPEN, "microphone.asked", "microphone.opened"];

/** A happening by its name, or whole. */
const whole = (event) => (typeof event === "string" ? { type: event } : event);
const after = (...events) => events.map(whole).reduce(step, FIRST_CALL);
const phase = (...events) => phaseOf(after(...events));

const STARTED = { type: "response.started", response: "r1" };
const DELTA = { type: "answer.delta", response: "r1", item: "i1", content: 0, text: "Yes" };
const DONE = { type: "response.ended", response: "r1", status: "completed", reason: "" };
const PLAYING = { type: "sound.playing", playing: true };
const SILENT = { type: "sound.playing", playing: false };
const TOOL = { type: "tool.started", id: "c1", label: "", name: "list_reports", at: 0 };
const TOOL_DONE = { type: "tool.completed", id: "c1", name: "list_reports", durationMs: 1, sources: [] };

const PHASES = [
  ["connecting", []],
  ["connecting", ["link.connecting"]],
  ["ready", OPEN],
  ["awaiting_microphone", [...OPEN, "microphone.asked"]],
  ["listening", LISTENING],
  ["hearing", [...LISTENING, "heard.started"]],
  ["thinking", [...LISTENING, "heard.started", "heard.stopped"]],
  ["thinking", [...OPEN, "typed"]],
  ["speaking", [...OPEN, "typed", STARTED, DELTA, PLAYING]],
  ["speaking", [...OPEN, "typed", STARTED, DELTA, PLAYING, DONE]],
  ["listening", [...LISTENING, STARTED, DELTA, PLAYING, DONE, SILENT]],
  ["hearing", [...LISTENING, STARTED, PLAYING, "heard.started"]],
  ["muted", [...LISTENING, "microphone.muted"]],
  ["listening", [...LISTENING, "microphone.muted", "microphone.unmuted"]],
  ["ready", [...LISTENING, "microphone.stopped"]],
  ["ready", [...LISTENING, "microphone.failed"]],
  ["reconnecting", [...LISTENING, "link.lost"]],
  ["listening", [...LISTENING, "link.lost", "link.ready"]],
  ["ended", [...LISTENING, "link.ended"]],
  ["connecting", [...OPEN, "link.ended", "link.starting"]],
  ["error", ["link.failed"]],
  ["error", [...OPEN, "link.failed"]],
];

for (const [expected, events] of PHASES) {
  test(`it is ${expected} after ${events.map((event) => whole(event).type).join(", ") || "nothing"}`, () => {
    assert.equal(phase(...events), expected);
  });
}

test("a response that only picks a tool does not look like the end", () => {
  assert.equal(phase(...OPEN, "typed", STARTED, DONE), "thinking");
  assert.equal(phase(...OPEN, "typed", STARTED, DONE, TOOL), "thinking");
  assert.equal(phase(...OPEN, "typed", STARTED, DONE, TOOL, TOOL_DONE), "thinking");
});

test("a failed answer, a stop and a long silence end the thinking", () => {
  const failed = { ...DONE, status: "failed" };
  assert.equal(phase(...OPEN, "typed", STARTED, failed), "ready");
  assert.equal(phase(...OPEN, "typed", TOOL, "stopped"), "ready");
  assert.equal(phase(...OPEN, "typed", "link.quiet"), "ready");
  assert.equal(phase(...LISTENING, "heard.started", "heard.stopped", "caller.unheard"), "listening");
});

test("the microphone can be tried again after a refusal and after a lost line (case 157)", () => {
  assert.equal(after(...OPEN, "microphone.asked", "microphone.failed", "microphone.asked").microphone, "asking");
  assert.equal(after(...OPEN, "microphone.asked", "link.lost", "microphone.stopped").microphone, "off");
});

test("a grant that comes after the person gave up opens nothing (case 157)", () => {
  assert.equal(after(...OPEN, "microphone.asked", "microphone.stopped", "microphone.opened").microphone, "off");
});

test("a lost line forgets the work, but not sound that still plays", () => {
  const { turn } = after(...OPEN, "typed", STARTED, TOOL, PLAYING, "link.lost");
  assert.deepEqual(turn, { hearing: false, awaiting: false, responses: [], tools: [], playing: true });
});

test("late events do not reopen what ended", () => {
  assert.equal(phase(...OPEN, "link.ended", "link.ready"), "ended");
  assert.equal(phase(...OPEN, "link.ended", "link.lost"), "ended");
});

test("what means nothing to the call leaves it the same object", () => {
  const call = after(...OPEN);
  assert.equal(step(call, { type: "trouble.dismissed" }), call);
});
