/** Events of a call in any order that a service may tell them: the log only grows, once and in order. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { FIRST, stepModel } from "../static/conversations/model.js";
import { split, textOf } from "../static/conversations/transcript.js";

/** A small generator, so that a failure comes again. */
function randomOf(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** What one turn tells, as separate strands: each keeps its order, between them there is none. */
function strandsOf(turn, random) {
  const [user, response, items] = [`u${turn}`, `r${turn}`, random(2) ? [`a${turn}`] : [`a${turn}`, `b${turn}`]];
  const place = (item) => ({ response, item, content: 0 });
  const caller = [
    ...(random(3) ? [{ type: "heard.started", item: user }, { type: "heard.stopped", item: user }] : []),
    ...(random(3) ? [{ type: "item.placed", item: user, role: "user", after: random(2) ? `a${turn - 1}` : null, text: "" }] : []),
    ...(random(4) ? [{ type: "caller.delta", item: user, content: 0, text: `Question` }] : []),
    random(6)
      ? { type: "caller.final", item: user, content: 0, text: `Question ${turn}` }
      : { type: "caller.unheard", item: user, code: "" },
  ];
  const answer = [
    ...(random(3) ? [{ type: "turn.begun", turn }] : []),
    ...(random(3) ? [{ type: "response.started", response }] : []),
    ...(random(3) ? [{ type: "tool.started", id: `t${turn}`, name: "get_report", label: "", at: 0 }] : []),
    ...items.flatMap((item, i) => [
      ...(random(2) ? [{ type: "answer.placed", ...place(item) }] : []),
      ...(random(2) && i ? [{ type: "item.placed", item, role: "assistant", after: items[0], text: "" }] : []),
      { type: "answer.delta", ...place(item), text: "Answer 👍🏽 " },
      { type: "answer.sound", ...place(item), audio: "A".repeat(6400) },
      { type: "answer.delta", ...place(item), text: `${item}.` },
      ...(random(3) ? [{ type: "answer.final", ...place(item), text: `Answer 👍🏽 ${item}.` }] : []),
    ]),
    ...(random(5) ? [] : [{ type: "answers.stopped", responses: [response] }]),
    ...(random(4) ? [] : [{ type: "answer.cut", item: items[0], playedMs: 60, receivedMs: 100 }]),
    ...(random(4) ? [] : [{ type: "answer.truncated", item: items[0], playedMs: 40 }]),
    ...(random(6) ? [{ type: "response.ended", response, status: "completed", reason: "" }] : [{ type: "speech.lost", retryAt: 0 }]),
  ];
  return [caller, answer];
}

function shuffled(strands, random) {
  const left = strands.map((strand) => [...strand]).filter((strand) => strand.length);
  const events = [];
  while (left.length) {
    const at = random(left.length);
    events.push(left[at].shift());
    if (!left[at].length) left.splice(at, 1);
  }
  return events;
}

const keysOf = (model) => split(model.lines).final.map((line) => line.key);

test("a line in the log stays there, in its place, once", () => {
  for (let seed = 1; seed <= 400; seed += 1) {
    const random = randomOf(seed);
    let model = FIRST;
    for (let turn = 1; turn <= 3; turn += 1) {
      for (const event of shuffled(strandsOf(turn, random), random)) {
        const before = keysOf(model);
        model = stepModel(model, event, 1000);
        const now = keysOf(model);
        assert.equal(new Set(now).size, now.length, `seed ${seed}: a line twice`);
        const kept = now.filter((key) => before.includes(key));
        assert.deepEqual(kept, before, `seed ${seed}: ${event.type} took or moved a final line`);
      }
    }
    const { live } = split(model.lines);
    assert.deepEqual(live.filter((line) => line.kind === "answer"), [], `seed ${seed}: an answer never ends`);
  }
});

test("a cut is always between two characters", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = randomOf(seed);
    const events = shuffled(strandsOf(1, random), random);
    const { lines } = events.reduce((model, event) => stepModel(model, event), FIRST);
    for (const line of lines.filter((one) => one.heard !== null)) {
      const said = textOf(line).slice(0, line.heard);
      assert.ok(said.isWellFormed() && !said.endsWith("👍"), `seed ${seed}: ${said}`);
    }
  }
});

const steps = (...events) => events.reduce((model, event) => stepModel(model, event, 7), FIRST);
const texts = (model) => model.lines.map((line) => `${line.kind}: ${textOf(line)}`);
const delta = (item, text, response = "r1") => ({ type: "answer.delta", response, item, content: 0, text });
const caller = (item, text) => ({ type: "caller.final", item, content: 0, text });

test("a question of which nothing was told before its words stands before the answer that is given", () => {
  assert.deepEqual(texts(steps(delta("a1", "It is fine."), caller("u1", "How is it?"))), [
    "caller: How is it?",
    "answer: It is fine.",
  ]);
  const greeted = [delta("a1", "Hello."), { type: "response.ended", response: "r1", status: "", reason: "" }];
  assert.deepEqual(texts(steps(...greeted, caller("u1", "How is it?"))), ["answer: Hello.", "caller: How is it?"]);
});

test("an item that came before the one it follows moves behind it", () => {
  const after = { type: "item.placed", item: "a1", role: "assistant", after: "a2", text: "" };
  assert.deepEqual(texts(steps(delta("a1", "two"), delta("a2", "one"), after)), ["answer: one", "answer: two"]);
});

test("what the service cut is marked, and what this page cut itself keeps its mark", () => {
  const sound = { type: "answer.sound", response: "r1", item: "a1", content: 0, audio: "A".repeat(64_000) };
  const done = { type: "response.ended", response: "r1", status: "completed", reason: "" };
  const truncated = { type: "answer.truncated", item: "a1", playedMs: 500 };
  const [line] = steps(delta("a1", "Oxygen in cage four is"), sound, done, truncated).lines;
  assert.equal(textOf(line).slice(0, line.heard), "Oxygen in");
  const cut = { type: "answer.cut", item: "a1", playedMs: 300, receivedMs: 1000 };
  assert.equal(steps(delta("a1", "Oxygen in cage four is"), sound, done, cut, truncated).lines[0].heard, 6);
  const whole = { ...truncated, playedMs: 1000 };
  assert.equal(steps(delta("a1", "Oxygen"), sound, done, whole).lines[0].heard, null);
});

test("a lost speech session leaves nothing open that nobody will end", () => {
  const model = steps({ type: "heard.stopped", item: "u1" }, delta("a1", "It is"), { type: "speech.lost", retryAt: 0 });
  const { final, live } = split(model.lines);
  assert.deepEqual([final.map(textOf), final[0].heard, live], [["It is"], 5, []]);
});

test("a typed line keeps its place on the screen when the server names it anew", () => {
  const typed = steps({ type: "typed", id: "t1", text: "Hi" }, { type: "typed.sent", id: "t1" });
  const named = stepModel(typed, { type: "item.placed", item: "u9", role: "user", after: null, text: "Hi" });
  assert.deepEqual([named.lines[0].id, named.lines[0].key], ["u9", "t1"]);
});
