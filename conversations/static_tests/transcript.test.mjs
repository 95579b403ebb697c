/** Lines of both sides: order, partial and final, cut answers, typed messages, history. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { catchUp } from "../static/conversations/history.js";
import { heardLength } from "../static/conversations/heard.js";
import { split, stepLines, textOf } from "../static/conversations/transcript.js";

const after = (...events) => events.reduce((lines, event) => stepLines(lines, event), []);
const texts = (lines) => lines.map((line) => `${line.kind}: ${textOf(line)}`);

const heard = (item) => ({ type: "heard.stopped", item });
const caller = (item, text) => ({ type: "caller.final", item, content: 0, text });
const callerDelta = (item, text) => ({ type: "caller.delta", item, content: 0, text });
const delta = (text, item = "a1", response = "r1") => ({ type: "answer.delta", response, item, content: 0, text });
const final = (text, item = "a1", response = "r1") => ({ type: "answer.final", response, item, content: 0, text });
const done = (response = "r1", reason = "") => ({ type: "response.ended", response, status: "", reason });
const typed = (id, text) => ({ type: "typed", id, text });
const tool = (id) => ({ type: "tool.started", id, name: "list_reports", label: "", at: 0 });

test("a transcript that comes late still stands before the answer", () => {
  const lines = after(heard("u1"), delta("It is "), delta("fine."), caller("u1", "How is it?"));
  assert.deepEqual(texts(lines), ["caller: How is it?", "answer: It is fine."]);
});

test("partial words grow and the final text replaces them", () => {
  const lines = after(heard("u1"), callerDelta("u1", "How"), callerDelta("u1", " is"), caller("u1", "How is it?"));
  assert.deepEqual(texts(lines), ["caller: How is it?"]);
  assert.equal(lines[0].settled, true);
});

test("an item goes behind the one that the server names, and behind its tools", () => {
  const placed = { type: "item.placed", item: "u2", role: "user", after: "u1", text: "" };
  const lines = after(heard("u1"), tool("c1"), delta("Late."), placed);
  assert.deepEqual(
    lines.map((line) => line.id),
    ["u1", "c1", "u2", "a1"],
  );
});

test("noise leaves no line", () => {
  const { final, live } = split(after(heard("u1"), { type: "caller.unheard", item: "u1", code: "" }));
  assert.deepEqual([final, live], [[], []]);
});

test("lines become final in order: an open one holds back those behind it", () => {
  const events = [heard("u1"), final("It is fine.")];
  assert.equal(split(after(...events)).final.length, 0);
  assert.equal(split(after(...events, caller("u1", "How?"), done())).final.length, 2);
});

test("the end of an answer settles the caller's line even when nobody understood it", () => {
  const { final: lines, live } = split(after(heard("u1"), final("Pardon?"), done()));
  assert.deepEqual([texts(lines), live.length], [["answer: Pardon?"], 0]);
});

test("a cut answer shows what was heard, to the end of a word", () => {
  const cut = { type: "answer.cut", item: "a1", playedMs: 500, receivedMs: 2000 };
  const [line] = after(final("Oxygen in cage four is fine today."), cut);
  assert.equal(textOf(line).slice(0, line.heard), "Oxygen");
});

test("nothing that comes after the cut changes a cut answer", () => {
  const cut = { type: "answer.cut", item: "a1", playedMs: 500, receivedMs: 2000 };
  const lines = after(delta("Oxygen in cage four"), cut, delta(" is low"), final("Other words"), done());
  assert.deepEqual(texts(lines), ["answer: Oxygen in cage four"]);
});

test("an answer that the caller spoke over is marked even without sound", () => {
  assert.equal(after(delta("Yes, well"), done("r1", "turn_detected"))[0].heard, 9);
  assert.equal(after(delta("Yes, well"), { type: "answers.stopped", responses: ["r1"] })[0].heard, 9);
});

test("an answer that ended by itself is whole", () => {
  assert.equal(after(delta("Yes."), done())[0].heard, null);
});

test("heard length knows nothing, all and the last word", () => {
  assert.equal(heardLength("one two", 0, 1000), 0);
  assert.equal(heardLength("one two", 1000, 1000), 7);
  assert.equal(heardLength("one two", 900, 1000), 3);
});

test("a typed message is delivered once the server shows it", () => {
  const sent = after(typed("t1", "Hi"), { type: "typed.sent", id: "t1" });
  assert.equal(sent[0].delivery, "sending");
  const shown = stepLines(sent, { type: "item.placed", item: "u1", role: "user", after: null, text: "Hi" });
  assert.deepEqual([shown.length, shown[0].id, shown[0].delivery], [1, "u1", null]);
  assert.equal(stepLines(shown, { type: "item.placed", item: "u1", role: "user", after: null, text: "Hi" }).length, 1);
});

test("an error while a message is on its way makes it unsure, until the server shows it after all", () => {
  const error = { type: "trouble", code: "x", message: "", ref: "", retryMs: null, about: "" };
  const lines = after(typed("t1", "Hi"), { type: "typed.sent", id: "t1" }, error);
  assert.equal(lines[0].delivery, "unsure");
  const shown = stepLines(lines, { type: "item.placed", item: "t1", role: "user", after: null, text: "Hi" });
  assert.equal(shown[0].delivery, null);
});

test("a service that shows no items delivers with its answer", () => {
  const lines = after(
    typed("t1", "Hi"),
    { type: "typed.sent", id: "t1" },
    { type: "response.started", response: "r1" },
  );
  assert.equal(lines[0].delivery, null);
});

test("what was typed outlives a lost line: waiting waits, sent becomes unsure", () => {
  const lines = after(typed("t1", "One"), { type: "typed.sent", id: "t1" }, typed("t2", "Two"), { type: "link.lost" });
  assert.deepEqual(
    lines.map((line) => line.delivery),
    ["unsure", "waiting"],
  );
});

test("a lost line leaves an open answer as cut", () => {
  const lines = after(delta("It is"), { type: "link.lost" });
  assert.deepEqual([lines[0].settled, lines[0].heard], [true, 5]);
});

test("another caller sees nothing of the one before, but what was typed and not sent", () => {
  const begun = { type: "conversation.begun", conversation: {}, sameCaller: false };
  const lines = after(caller("u1", "Secret"), final("Answer"), typed("t1", "Mine"), begun);
  assert.deepEqual(
    lines.filter((line) => line.kind !== "break").map((line) => [textOf(line), line.delivery]),
    [["Mine", "failed"]],
  );
});

test("a new conversation of the same caller keeps the old lines above a break", () => {
  const begun = { type: "conversation.begun", conversation: {}, sameCaller: true };
  const lines = after(caller("u1", "Old"), typed("t1", "New"), begun);
  assert.deepEqual(
    lines.map((line) => [line.kind, line.delivery]),
    [
      ["caller", null],
      ["break", null],
      ["caller", "waiting"],
    ],
  );
});

const turn = (index, said, answer, more = {}) => ({
  index,
  origin: "voice",
  caller_text: said,
  heard_text: answer,
  outcome: "done",
  tools: [],
  ...more,
});
const NOTHING = { turns: 0, callers: 0 };

test("a reload brings back every finished turn with its tools", () => {
  const tools = [{ name: "list_reports", label: "Reports", status: "failed", code: "forbidden", duration_ms: 3 }];
  const turns = [turn(1, "One?", "One."), turn(2, "Two?", "Tw", { outcome: "interrupted", tools })];
  const { lines, chips } = catchUp([], turns, NOTHING);
  assert.deepEqual(texts(lines), ["caller: One?", "answer: One.", "caller: Two?", "tool: ", "answer: Tw"]);
  assert.equal(lines[4].heard, 2);
  assert.deepEqual(
    chips.map((chip) => [chip.label, chip.code]),
    [["Reports", "forbidden"]],
  );
});

test("a reload shows where an answer was stopped, however it was stopped", () => {
  const heard = (outcome) => catchUp([], [turn(1, "One?", "On", { outcome })], NOTHING).lines[1].heard;
  assert.deepEqual(["interrupted", "cancelled", "failed", "done"].map(heard), [2, 2, 2, null]);
});

test("coming back adds what was missed and nothing twice", () => {
  const first = catchUp([], [turn(1, "One?", "One.")], NOTHING);
  const seen = [heard("u2"), caller("u2", "Two?"), final("Two."), done()].reduce((lines, event) => stepLines(lines, event), first.lines);
  const turns = [turn(1, "One?", "One."), turn(2, "Two?", "Two.")];
  const same = catchUp(seen, turns, first.known);
  assert.deepEqual(same.lines, seen);
  const missed = catchUp(same.lines, [...turns, turn(3, "Three?", "Three.")], same.known);
  assert.deepEqual(texts(missed.lines).slice(-2), ["caller: Three?", "answer: Three."]);
  assert.deepEqual(missed.known, { turns: 3, callers: 3 });
});

test("an answer that came while the page was away is added to its question", () => {
  const seen = after(heard("u1"), caller("u1", "One?"));
  const back = catchUp(seen, [turn(1, "One?", "One.")], NOTHING);
  assert.deepEqual(texts(back.lines), ["caller: One?", "answer: One."]);
});

test("a turn that still runs is not taken for a missed one", () => {
  const seen = after(heard("u1"), caller("u1", "One?"));
  const running = catchUp(seen, [], NOTHING);
  const finished = catchUp(running.lines, [turn(1, "One?", "One.")], running.known);
  assert.deepEqual(texts(finished.lines), ["caller: One?", "answer: One."]);
});

test("what waits to be sent stays last", () => {
  const { lines } = catchUp(after(typed("t1", "Next?")), [turn(1, "One?", "One.")], NOTHING);
  assert.deepEqual(texts(lines), ["caller: One?", "answer: One.", "caller: Next?"]);
});
