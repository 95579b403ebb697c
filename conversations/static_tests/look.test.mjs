/** What face a call has for whoever looks at it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { faceOf } from "../static/conversations/look.js";
import { FIRST } from "../static/conversations/model.js";

/** @param {Partial<typeof FIRST.call>} call */
const model = (call, more = {}) => ({ ...FIRST, ...more, call: { ...FIRST.call, link: "open", ...call } });
const busy = { ...FIRST.call.turn, awaiting: true };

test("an open call without a microphone is ready, and heard while it is on", () => {
  assert.equal(faceOf(model({})), "ready");
  assert.equal(faceOf(model({ microphone: "on" })), "listening");
});

test("thinking is told apart from looking something up and from asking for a tap", () => {
  assert.equal(faceOf(model({ turn: busy })), "thinking");
  const turn = { ...busy, tools: ["call_1"] };
  assert.equal(faceOf(model({ turn })), "looking");
  assert.equal(faceOf(model({ turn }, { sheets: [{}] })), "asking");
});

test("who can only type is told so, also where only the microphone does not work", () => {
  assert.equal(faceOf(model({ link: "written" })), "written");
  assert.equal(faceOf(model({}, { microphoneProblem: "denied" })), "written");
  assert.equal(faceOf(model({ turn: busy }, { microphoneProblem: "denied" })), "thinking");
});

test("a lost line stays reconnecting while it is tried", () => {
  const problem = { code: "lost", ref: "", retryAt: null };
  assert.equal(faceOf(model({ link: "connecting" })), "connecting");
  assert.equal(faceOf(model({ link: "reconnecting" }, { problem })), "reconnecting");
  assert.equal(faceOf(model({ link: "connecting" }, { problem })), "reconnecting");
});
