/** Typed questions over HTTP: from the server's events, however they are cut, to what the page shows. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError } from "../static/conversations/api.js";
import { Writing } from "../static/conversations/writing.js";

const EVENTS = [
  { type: "turn.started", turn: 3 },
  { type: "vocero.tool.started", call_id: "c", name: "get_report", label: "Reading", turn: 3 },
  { type: "text.delta", delta: "Olé, it is " },
  { type: "text.delta", delta: "fine." },
  { type: "turn.completed", turn: 3, text: "Olé, it is fine.", tool_calls: [] },
];

/** @param {object[]} events @param {number} size of a piece in bytes */
function streamOf(events, size) {
  const bytes = new TextEncoder().encode(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
}

function scene(...answers) {
  const told = [];
  const asked = [];
  const ask = async (text, signal) => {
    asked.push({ text, signal });
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { told, asked, writing: new Writing({ ask, emit: (event) => told.push(event) }) };
}

for (const size of [1, 7, 10_000]) {
  test(`an answer in pieces of ${size} bytes is the same answer`, async () => {
    const { told, writing } = scene(streamOf(EVENTS, size));
    await writing.ask("typed_1", "How is it?");
    const words = told.filter((one) => one.type === "answer.delta").map((one) => one.text);
    assert.deepEqual(words, ["Olé, it is ", "fine."]);
    assert.deepEqual(
      told.map((one) => one.type),
      [
        "typed.sent",
        "item.placed",
        "response.started",
        "turn.begun",
        "tool.started",
        "answer.delta",
        "answer.delta",
        "answer.final",
        "response.ended",
      ],
    );
  });
}

test("a question that is refused is told, and its line was not sent", async () => {
  const { told, writing } = scene(new ApiError("turn_in_progress", { ref: "r1" }));
  await writing.ask("typed_1", "How is it?");
  assert.deepEqual(told[1], { type: "typed.failed", id: "typed_1" });
  assert.equal(told[2].code, "turn_in_progress");
  assert.equal(told[2].ref, "r1");
});

test("a newer question ends the one before, of which nothing more is told", async () => {
  const never = new ReadableStream({});
  const { told, asked, writing } = scene(never, streamOf(EVENTS, 10_000));
  const first = writing.ask("typed_1", "One?");
  await new Promise((resolve) => setImmediate(resolve));
  await writing.ask("typed_2", "Two?");
  assert.equal(asked[0].signal.aborted, true);
  assert.equal(told.filter((one) => one.type === "response.ended")[0].status, "cancelled");
  assert.equal(told.at(-1).response, "written-2");
  void first;
});
