/** Beside the lines: sources, ratings, captions, questions to begin with, and the conversation as a file. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { rateable, sourcesOf } from "../static/conversations/answers.js";
import { ApiError } from "../static/conversations/api.js";
import { captionOf, sentenceAt } from "../static/conversations/captions.js";
import { FIRST, Store, stepModel } from "../static/conversations/model.js";
import { Ratings } from "../static/conversations/ratings.js";
import { Suggester } from "../static/conversations/suggester.js";
import { fileName, transcriptText } from "../static/conversations/transcript-file.js";
import { keepCaptions, wantsCaptions } from "../static/conversations/wishes.js";

const AT = new Date(2026, 11, 1, 9, 5, 7).getTime();

const steps = (...events) => events.reduce((model, event) => stepModel(model, event, AT), FIRST);
const begun = (turn) => ({ type: "turn.begun", turn });
const caller = (item, text) => ({ type: "caller.final", item, content: 0, text });
const delta = (text, item = "a1", response = "r1") => ({ type: "answer.delta", response, item, content: 0, text });
const sound = (ms, item = "a1") => ({ type: "answer.sound", response: "r1", item, content: 0, audio: "A".repeat(ms * 64) });
const started = (id) => ({ type: "tool.started", id, name: "list_reports", label: "Reading", at: AT });
const completed = (id, ...sources) => ({ type: "tool.completed", id, name: "x", durationMs: 5, sources });
const done = (response = "r1", reason = "") => ({ type: "response.ended", response, status: "completed", reason });

const sources = (model) => Object.fromEntries(sourcesOf(model.lines, model.chips));

test("the last answer to a question tells where it comes from, each title once", () => {
  const first = [caller("u1", "One?"), delta("Let me see.", "a1"), started("c1"), completed("c1", "North", "South")];
  assert.deepEqual(sources(steps(...first)), {});
  const second = [started("c2"), completed("c2", "North"), delta("It is", "a2"), caller("u2", "Two?"), delta("So", "a3")];
  assert.deepEqual(sources(steps(...first, ...second)), { a2: ["North", "South"] });
});

test("of each finished turn the last answer can be rated", () => {
  const ids = (...events) => [...rateable(steps(...events))];
  const running = [begun(1), delta("Let me see.", "a1", "r1"), done("r1"), started("c1")];
  assert.deepEqual(ids(...running), []);
  const ended = [...running, completed("c1"), delta("It is.", "a2", "r2"), done("r2")];
  assert.deepEqual(ids(...ended), ["a2"]);
  assert.deepEqual(ids(...ended, caller("u2", "Two?"), begun(2), delta("And", "a3", "r3")), ["a2"]);
  assert.deepEqual(ids(delta("Nobody knows the turn."), done()), []);
});

test("the turns of another conversation cannot be rated any more", () => {
  const conversation = { type: "conversation.begun", conversation: {}, sameCaller: true };
  const model = steps(begun(1), delta("It is."), done(), conversation);
  assert.deepEqual([...rateable(model)], []);
  const [line] = stepModel(model, { type: "rated", turn: 1, rating: "bad" }).lines;
  assert.equal(line.rating, null);
});

function rated(send) {
  const store = new Store();
  for (const event of [begun(4), delta("It is."), done()]) store.dispatch(event);
  const shown = () => store.model.lines[0].rating;
  return { store, shown, ratings: new Ratings(store, send) };
}

test("a rating is shown at once and stays where the server keeps it", async () => {
  const sent = [];
  const { store, shown, ratings } = rated(async (...what) => void sent.push(what));
  const sending = ratings.rate(4, "bad");
  assert.equal(shown(), "bad");
  await sending;
  await ratings.rate(4, null);
  assert.deepEqual([shown(), sent, store.model.trouble], [null, [[4, "bad"], [4, null]], null]);
});

test("a rating that the server does not keep is taken back and told", async () => {
  const { store, shown, ratings } = rated(() => Promise.reject(new ApiError("not_found", { ref: "ab12" })));
  await ratings.rate(4, "good");
  assert.deepEqual([shown(), store.model.trouble.code, store.model.trouble.ref], [null, "rating", "ab12"]);
});

test("an older press that fails does not undo a newer one", async () => {
  let fail = () => {};
  const answers = [new Promise((_resolve, reject) => (fail = reject)), Promise.resolve()];
  const { shown, ratings } = rated(() => answers.shift());
  const first = ratings.rate(4, "bad");
  await ratings.rate(4, "good");
  fail(new ApiError("unreachable"));
  await first;
  assert.equal(shown(), "good");
});

const ANSWER = "Oxygen is fine. Cage four has eight point two. That is all.";

test("a caption shows the sentence that is spoken, as far as it is spoken", () => {
  const spoken = (playedMs) => ({ type: "sound.heard", item: "a1", playedMs });
  const heard = (ms) => captionOf(steps(caller("u1", "How?"), delta(ANSWER), sound(6000), done(), spoken(ms)))?.text;
  assert.deepEqual([0, 700, 2100, 3000, 6000].map(heard), [
    undefined,
    "Oxygen",
    "Cage",
    "Cage four has",
    "That is all.",
  ]);
});

test("a caption never runs ahead of sound that is still to come", () => {
  const model = steps(delta(ANSWER), sound(100), { type: "sound.heard", item: "a1", playedMs: 100 });
  assert.equal(captionOf(model), null);
  assert.equal(captionOf(steps(delta(ANSWER), sound(100))), null);
});

test("without sound a caption follows the words, and the caller is shown while they speak", () => {
  assert.deepEqual(captionOf(steps(delta("It is fine. And"))), { who: "answer", text: "And" });
  const speaking = [delta("It is."), done(), { type: "caller.delta", item: "u1", content: 0, text: "What about" }];
  assert.deepEqual(captionOf(steps(...speaking)), { who: "caller", text: "What about" });
  assert.equal(captionOf(FIRST), null);
});

test("a long sentence is shown in pieces that are read at a glance", () => {
  const text = `${"word ".repeat(60)}end.`;
  for (let end = 1; end <= text.length; end += 1) {
    const shown = sentenceAt(text, end);
    assert.ok(shown.length <= 96, shown);
  }
  assert.ok(sentenceAt(text, text.length).endsWith("end."));
  assert.ok(sentenceAt("x".repeat(500), 500).length <= 96);
});

test("an interrupted answer is captioned as far as it was heard", () => {
  const cut = { type: "answer.cut", item: "a1", playedMs: 500, receivedMs: 6000 };
  assert.equal(captionOf(steps(delta(ANSWER), cut)), null);
  assert.equal(captionOf(steps(delta(ANSWER), { ...cut, playedMs: 800 })).text, "Oxygen");
});

const ready = { type: "ready", caller: null, toolsError: "" };
const conversation = (id) => ({ type: "conversation.begun", conversation: { id }, sameCaller: true });

test("questions are asked for at the beginning, and once more when the tools are known", async () => {
  const answers = [[], ["One?"], ["Never asked."]];
  const told = [];
  const suggester = new Suggester(
    async () => ({ questions: answers.shift(), labels: {} }),
    (event) => told.push(event.questions),
  );
  for (const event of [conversation("c1"), ready, ready]) await suggester.notice(event);
  assert.deepEqual(told, [[], ["One?"]]);
});

test("questions of a caller who is gone are not shown to the next, and a failure is nobody's trouble", async () => {
  const told = [];
  let answer = (_found) => {};
  const reads = [new Promise((resolve) => (answer = resolve)), Promise.reject(new ApiError("unreachable"))];
  const suggester = new Suggester(
    () => reads.shift(),
    (event) => told.push(event),
  );
  const first = suggester.notice(conversation("c1"));
  await suggester.notice(conversation("c2"));
  answer({ questions: ["Hers?"], labels: {} });
  await first;
  assert.deepEqual(told, []);
});

test("the next caller begins without the questions of the one before", () => {
  const suggested = { type: "suggested", questions: ["One?"], labels: { a: "A" } };
  const next = { ...conversation("c2"), sameCaller: false };
  assert.deepEqual(stepModel(steps(suggested), next).questions, []);
  assert.deepEqual(stepModel(steps(suggested), conversation("c2")).questions, ["One?"]);
});

test("the file holds both sides as heard, with times, tools and how they ended", () => {
  const failed = { type: "tool.failed", id: "c2", name: "get_report", code: "forbidden", message: "No.", ref: "K3F" };
  const cut = { type: "answer.cut", item: "a1", playedMs: 1000, receivedMs: 6000 };
  const model = steps(caller("u1", "How?"), started("c1"), completed("c1", "North"), failed, delta(ANSWER), done(), cut);
  const typed = stepModel(model, { type: "typed", id: "t1", text: "And?" }, AT);
  const at = new Date(AT);
  assert.deepEqual(transcriptText({ ...typed, caller: "Ada" }, at).split("\n"), [
    "Vocero · Ada · 2026-12-01 09:05",
    "",
    "[09:05:07] You: How?",
    "[09:05:07] (Reading: Done)",
    "[09:05:07] (Get report: Failed, Reference K3F)",
    "[09:05:07] Vocero: Oxygen is [interrupted]",
    "[09:05:07] You: And? [Waiting to be sent]",
    "",
  ]);
  assert.equal(fileName(at), "vocero-2026-12-01-0905.txt");
});

test("the wish for captions is kept, and a browser that keeps nothing is no trouble", () => {
  const kept = new Map();
  const memory = () => ({ getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) });
  assert.equal(wantsCaptions(memory), false);
  keepCaptions(memory, true);
  assert.equal(wantsCaptions(memory), true);
  keepCaptions(memory, false);
  assert.equal(wantsCaptions(memory), false);
  const forbidden = () => {
    throw new DOMException("", "SecurityError");
  };
  keepCaptions(forbidden, true);
  assert.equal(wantsCaptions(forbidden), false);
});
