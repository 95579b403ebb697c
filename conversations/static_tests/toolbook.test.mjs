/** Whose tools are listed, and what is left of them in the browser. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Toolbook } from "../static/conversations/toolbook.js";

const REPORTS = { name: "list_reports", description: "Lists reports." };
const CENTERS = { name: "list_centers", description: "Lists centers." };

/** A window's memory that can be looked into. */
class Memory extends Map {
  getItem = (key) => this.get(key) ?? null;
  setItem = (key, value) => void this.set(key, value);
  removeItem = (key) => void this.delete(key);
  key = (i) => [...this.keys()][i] ?? null;
  get length() {
    return this.size;
  }
}

function opened(memory = new Memory()) {
  const answers = [];
  const shown = [];
  const clock = { now: 1_000_000 };
  const read = () => new Promise((resolve, reject) => answers.push({ resolve, reject }));
  const book = new Toolbook(read, (tools) => shown.push(tools.map(({ name }) => name)), memory, () => clock.now);
  const begins = (id) => book.notice({ type: "conversation.begun", conversation: { id }, sameCaller: true });
  return { book, answers, shown, memory, clock, begins, last: () => shown.at(-1) };
}

async function told(desk, id, tools) {
  const done = desk.begins(id);
  desk.answers.at(-1).resolve(tools);
  await done;
}

test("a caller's tools are asked for once and kept for their conversation", async () => {
  const desk = opened();
  await told(desk, "c-1", [REPORTS, CENTERS]);
  assert.deepEqual(desk.last(), ["list_reports", "list_centers"]);
  const reloaded = opened(desk.memory);
  await reloaded.begins("c-1");
  assert.deepEqual(reloaded.last(), ["list_reports", "list_centers"]);
  assert.equal(reloaded.answers.length, 0);
});

test("only names and descriptions are kept, under the conversation's own key", async () => {
  const desk = opened();
  await told(desk, "c-1", [{ ...REPORTS, parameters: { secret: 1 }, requires_auth: true }]);
  const [[key, value]] = [...desk.memory];
  assert.equal(key, "vocero.tools.c-1");
  assert.deepEqual(JSON.parse(value), { at: 1_000_000, tools: [REPORTS] });
});

test("what is kept grows old", async () => {
  const desk = opened();
  await told(desk, "c-1", [REPORTS]);
  desk.clock.now += 300_000;
  await told(desk, "c-1", [CENTERS]);
  assert.equal(desk.answers.length, 2);
  assert.deepEqual(desk.last(), ["list_centers"]);
});

test("another conversation never sees the tools of the one before, and nothing of those is left", async () => {
  const desk = opened();
  desk.memory.setItem("unrelated", "stays");
  await told(desk, "c-1", [REPORTS]);
  const done = desk.begins("c-2");
  assert.deepEqual(desk.last(), []);
  assert.deepEqual([...desk.memory.keys()], ["unrelated"]);
  desk.answers.at(-1).resolve([CENTERS]);
  await done;
  assert.deepEqual(desk.last(), ["list_centers"]);
  assert.deepEqual([...desk.memory.keys()], ["unrelated", "vocero.tools.c-2"]);
});

for (const event of [
  { type: "link.ended", problem: {} },
  { type: "link.failed", problem: {} },
  { type: "link.starting", newCaller: true },
])
  test(`${event.type} clears the list and the memory`, async () => {
    const desk = opened();
    await told(desk, "c-1", [REPORTS]);
    await desk.book.notice(event);
    assert.deepEqual(desk.last(), []);
    assert.equal(desk.memory.size, 0);
  });

test("an answer that comes after the caller has gone is dropped", async () => {
  const desk = opened();
  const first = desk.begins("c-1");
  await desk.book.notice({ type: "link.starting", newCaller: true });
  const second = desk.begins("c-2");
  desk.answers[0].resolve([REPORTS]);
  await first;
  assert.deepEqual(desk.last(), []);
  assert.equal(desk.memory.size, 0);
  desk.answers[1].resolve([CENTERS]);
  await second;
  assert.deepEqual(desk.last(), ["list_centers"]);
});

test("a conversation that comes back has its list again; a lost line changes nothing", async () => {
  const desk = opened();
  await told(desk, "c-1", [REPORTS]);
  await desk.book.notice({ type: "link.lost", retryAt: 0, code: "lost" });
  await desk.book.notice({ type: "link.ready" });
  assert.deepEqual(desk.last(), ["list_reports"]);
  assert.equal(desk.answers.length, 1);
  await desk.book.notice({ type: "link.ended", problem: {} });
  const done = desk.book.notice({ type: "link.ready" });
  desk.answers.at(-1).resolve([REPORTS]);
  await done;
  assert.deepEqual(desk.last(), ["list_reports"]);
});

test("a list that cannot be had, or kept, is no trouble", async () => {
  const desk = opened();
  const failing = desk.begins("c-1");
  desk.answers[0].reject(new Error("away"));
  await failing;
  assert.deepEqual(desk.last(), []);
  desk.memory.setItem = () => {
    throw new Error("full");
  };
  await told(desk, "c-2", [REPORTS]);
  assert.deepEqual(desk.last(), ["list_reports"]);
  desk.memory.set("vocero.tools.c-3", "{");
  await told(desk, "c-3", [CENTERS]);
  assert.deepEqual(desk.last(), ["list_centers"]);
});
