/** What is remembered of how one talks, which devices are offered, and when a computer slept. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { devicesOf } from "../static/conversations/audio/devices.js";
import { noticeOf } from "../static/conversations/notice.js";
import { FIRST, stepModel } from "../static/conversations/model.js";
import { recall, remember } from "../static/conversations/preferences.js";
import { slept } from "../static/conversations/wake.js";

function memory(kept = {}) {
  return { getItem: (key) => kept[key] ?? null, setItem: (key, value) => (kept[key] = value) };
}

const forbidden = () => {
  throw new DOMException("", "SecurityError");
};

test("what was chosen is remembered, and nothing else", () => {
  const store = memory();
  remember(() => store, { way: "push", input: "a", output: "b", other: "c" });
  assert.deepEqual(recall(() => store), { way: "push", input: "a", output: "b" });
});

test("a memory that is empty, broken, of another shape or forbidden means the defaults", () => {
  const defaults = { way: "hands_free", input: "", output: "" };
  for (const text of [null, "{", "null", "[]", '{"way": 7, "input": {}, "output": null}']) {
    assert.deepEqual(recall(() => memory({ "vocero.talking": text })), defaults);
  }
  assert.deepEqual(recall(forbidden), defaults);
  remember(forbidden, defaults);
});

test("what the system takes by default is no device of its own", () => {
  const found = ["", "default", "communications", "usb"].map((deviceId) => ({ kind: "audioinput", deviceId, label: deviceId }));
  assert.deepEqual(devicesOf([...found, { kind: "audiooutput", deviceId: "tv", label: "TV" }], "audioinput"), [
    { id: "usb", label: "usb" },
  ]);
});

test("a timer that is much too late means sleep; in a tab that nobody sees it takes more", () => {
  const at = (seconds, hidden = false) => ({ at: seconds * 1000, hidden });
  assert.equal(slept(at(0), at(5)), false);
  assert.equal(slept(at(0), at(20)), false);
  assert.equal(slept(at(0), at(26)), true);
  assert.equal(slept(at(0, true), at(65)), false);
  assert.equal(slept(at(0, true), at(65, true)), false);
  assert.equal(slept(at(0, true), at(600)), true);
  assert.equal(slept(at(600), at(0)), false);
});

test("a remark is calm, gives way to trouble, and goes with the next thing that is said", () => {
  const remarked = stepModel(FIRST, { type: "remarked", text: "talk.short", detail: "", deed: "dismiss" });
  assert.deepEqual([noticeOf(remarked).text, noticeOf(remarked).tone], ["talk.short", "calm"]);
  const failed = stepModel(remarked, { type: "microphone.failed", problem: "busy" });
  assert.equal(noticeOf(failed).text, "microphone.busy");
  assert.equal(noticeOf(stepModel(remarked, { type: "talk.begun" })), null);
});

test("who is offline is told so while the line is waited for", () => {
  const model = ["link.connecting", "link.ready"].reduce((before, type) => stepModel(before, { type }), FIRST);
  const lost = stepModel(model, { type: "link.lost", retryAt: 7, code: "offline" });
  assert.deepEqual([noticeOf(lost).text, noticeOf(lost).label], ["hint.offline", "deed.reconnect_now"]);
});
