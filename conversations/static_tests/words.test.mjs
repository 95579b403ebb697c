/** What a close, a problem or a tool's outcome means to a person. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { stepChips, toneOf } from "../static/conversations/chips.js";
import { backOff, planFor } from "../static/conversations/closing.js";
import { FIRST, stepModel } from "../static/conversations/model.js";
import { noticeOf } from "../static/conversations/notice.js";
import { explain, toolText, troubleText } from "../static/conversations/problems.js";
import { duration, say } from "../static/conversations/text.js";

const SILENT = { code: "", retryMs: null };

test("every close code has its behaviour", () => {
  assert.deepEqual(planFor(1000, SILENT), { act: "end", code: "normal" });
  for (const code of [1001, 1005, 1006, 1011, 1012, 4999]) assert.equal(planFor(code, SILENT).act, "reconnect");
  for (const code of [4401, 4404]) assert.equal(planFor(code, SILENT).act, "bootstrap");
  assert.deepEqual(planFor(4400, SILENT), { act: "fail", code: "invalid_events" });
  assert.deepEqual(planFor(4409, SILENT), { act: "end", code: "taken_over" });
  assert.deepEqual(planFor(4413, SILENT), { act: "fail", code: "too_big" });
  assert.deepEqual(planFor(4502, SILENT), { act: "fail", code: "speech_down" });
  assert.deepEqual(planFor(4429, { code: "", retryMs: 700 }), { act: "wait", code: "capacity", ms: 700 });
});

test("a closed conversation says why, and never what it does not know", () => {
  assert.equal(planFor(4410, { code: "operator", retryMs: null }).code, "operator");
  assert.equal(planFor(4410, { code: "forbidden_event", retryMs: null }).code, "normal");
});

test("waiting doubles up to a limit and is never the same for all", () => {
  assert.ok(backOff(0, 0) >= 200 && backOff(0, 1) <= 400);
  assert.ok(backOff(3, 0) < backOff(3, 1));
  assert.equal(backOff(50, 1), 15_000);
});

test("every code of the contract has a sentence, an unknown one has the general one", () => {
  const codes =
    "invalid login_rejected login_required unsafe_phone_disabled link_expired link_used rate_limited backend_contract " +
    "backend_unavailable caller_cleanup superseded expired idle auth_expired operator error";
  for (const code of codes.split(" ")) assert.notEqual(explain(code).text, "problem.unexpected", code);
  for (const code of ["", "toString", "new_code"]) assert.equal(explain(code).text, "problem.unexpected");
  assert.equal(troubleText("new_code"), "trouble.general");
  assert.equal(toolText("forbidden"), "tool.forbidden");
  assert.equal(toolText("new_code"), null);
});

test("nothing is offered that cannot help", () => {
  assert.equal(explain("link_used").deed, null);
  assert.equal(explain("backend_unavailable").deed, "retry");
  assert.equal(explain("taken_over").deed, "reconnect");
  assert.equal(explain("expired").deed, "begin");
});

test("a speech service that is away is tried again, a call in another window is continued", () => {
  const failed = (code) => {
    const problem = { code, ref: "", retryAt: null };
    return ["link.starting", "link.failed"].reduce((model, type) => stepModel(model, { type, problem }), FIRST);
  };
  const { deed, label } = noticeOf(failed("speech_down"));
  assert.deepEqual([deed, say(label)], ["reconnect", "Try again"]);
  assert.equal(say(noticeOf(failed("taken_over")).label), "Continue here");
});

test("the six microphone problems are six sentences (case 158)", () => {
  const problems = ["insecure", "unsupported", "denied", "missing", "busy", "lost"];
  const sentences = problems.map((problem) => {
    const notice = noticeOf(stepModel(FIRST, { type: "microphone.failed", problem }));
    return say(notice.text);
  });
  assert.equal(new Set(sentences).size, 6);
  for (const sentence of sentences) assert.match(sentence, /type/);
});

test("a lost line outranks the microphone, and both go when it is over", () => {
  const failed = stepModel(FIRST, { type: "microphone.failed", problem: "denied" });
  const open = ["link.connecting", "link.ready"].reduce((model, type) => stepModel(model, { type }), failed);
  const lost = stepModel(open, { type: "link.lost", retryAt: 5000, code: "lost" });
  assert.deepEqual([noticeOf(lost).text, noticeOf(lost).until], ["hint.reconnecting", 5000]);
  const typed = stepModel(stepModel(lost, { type: "link.ready" }), { type: "typed", id: "t1", text: "Hi" });
  assert.equal(noticeOf(typed), null);
});

test("an error shows the server's words and its reference", () => {
  const event = { type: "trouble", code: "x", message: "It broke.", ref: "ab12", retryMs: null, about: "" };
  const { detail, ref, deed } = noticeOf(stepModel(FIRST, event));
  assert.deepEqual([detail, ref, deed], ["It broke.", "ab12", "dismiss"]);
});

test("a chip runs, ends once, and a refusal needs no start", () => {
  const started = stepChips({}, { type: "tool.started", id: "c1", name: "list_reports", label: "Reports", at: 7 });
  assert.equal(started.c1.label, "Reports");
  const progress = stepChips(started, { type: "tool.progress", id: "c1", progress: 0.5, message: "half" });
  const done = stepChips(progress, {
    type: "tool.completed",
    id: "c1",
    name: "list_reports",
    durationMs: 40,
    sources: ["N"],
  });
  assert.deepEqual([done.c1.status, done.c1.durationMs, done.c1.sources], ["completed", 40, ["N"]]);
  assert.equal(stepChips(done, { type: "tool.progress", id: "c1", progress: 1, message: "late" }), done);
  const refused = stepChips(
    {},
    { type: "tool.failed", id: "c2", name: "get_report", code: "forbidden", message: "", ref: "r" },
  );
  assert.deepEqual([refused.c2.label, toneOf(refused.c2)], ["Get report", "failed"]);
});

test("a cancelled tool is no alarm; one that the line took with it is", () => {
  const started = stepChips({}, { type: "tool.started", id: "c1", name: "a", label: "A", at: 0 });
  const cancelled = stepChips(started, {
    type: "tool.failed",
    id: "c1",
    name: "a",
    code: "cancelled",
    message: "",
    ref: "",
  });
  assert.equal(toneOf(cancelled.c1), "calm");
  assert.equal(stepChips(started, { type: "link.lost", retryAt: 0, code: "lost" }).c1.code, "connection_lost");
});

test("durations are short words", () => {
  assert.deepEqual([duration(0), duration(1200), duration(180_000)], ["0 s", "2 s", "3 min"]);
});

test("static imports end as the server's rewriting of addresses needs it, and no module is long", () => {
  const root = new URL("../static/conversations/", import.meta.url);
  const files = readdirSync(root, { recursive: true }).filter((name) => name.endsWith(".js"));
  assert.ok(files.length > 20);
  for (const name of files) {
    const source = readFileSync(new URL(name, root), "utf8");
    assert.ok(source.split("\n").length <= 400, name);
    assert.doesNotMatch(source, /innerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/, name);
    for (const statement of source.match(/^(?:import|export)\b[^;]*?from\s*["'][^"']+["'].?/gm) ?? []) {
      assert.ok(statement.endsWith(";"), `${name}: ${statement}`);
      assert.match(statement, /from "\.\.?\//, `${name}: ${statement}`);
    }
  }
});
