/** The conversation in action, on devices and a line that only remember what they were told. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { Call } from "../static/conversations/call.js";
import { Store } from "../static/conversations/model.js";
import { textOf } from "../static/conversations/transcript.js";

mock.timers.enable({ apis: ["setTimeout"] });

function scene({ cuts = [] } = {}) {
  const sent = [];
  const played = [];
  const link = { send: (event) => sent.push(event) > 0, start() {}, reconnect() {}, hurry() {} };
  const speaker = {
    unlock: async () => {},
    play: (chunk) => played.push(chunk),
    end() {},
    flush: async () => cuts.splice(0),
  };
  const microphone = { close() {} };
  const store = new Store();
  const call = new Call({ store, link, speaker, microphone });
  store.watch((event) => call.react(event));
  const happen = (type, more = {}) => store.dispatch({ type, ...more });
  const types = () => sent.map((event) => event.type);
  return { call, store, sent, played, happen, types };
}

function open(options) {
  const made = scene(options);
  made.happen("link.starting");
  made.happen("link.connecting");
  made.happen("link.ready");
  return made;
}

const READY = { caller: null, toolsError: "" };

test("what was typed before the line was open goes out in its order when it is", async () => {
  const { call, happen, sent, types } = scene();
  await call.type("One?");
  await call.type("Two?");
  assert.deepEqual(types(), []);
  happen("link.connecting");
  happen("link.ready");
  happen("ready", READY);
  assert.deepEqual(types(), Array(2).fill(["conversation.item.create", "response.create"]).flat());
  assert.deepEqual(
    sent.filter((event) => event.item).map((event) => event.item.content[0].text),
    ["One?", "Two?"],
  );
  happen("ready", READY);
  assert.equal(sent.length, 4);
});

test("a message that is sent is waited for, also when the line was lost meanwhile", async () => {
  const { call, store, happen } = scene();
  await call.type("One?");
  happen("link.starting");
  happen("link.connecting");
  happen("link.ready");
  assert.equal(store.model.call.turn.awaiting, false);
  happen("ready", READY);
  assert.equal(store.model.call.turn.awaiting, true);
});

test("typing over an answer cancels it, says what was heard, and only then asks", async () => {
  const cuts = [{ response: "r1", item: "a1", content: 0, playedMs: 700, receivedMs: 3000 }];
  const { call, happen, types, sent } = open({ cuts });
  happen("response.started", { response: "r1" });
  await call.type("Stop that.");
  assert.deepEqual(types(), [
    "response.cancel",
    "vocero.client.played",
    "conversation.item.truncate",
    "conversation.item.create",
    "response.create",
  ]);
  assert.deepEqual([sent[1].played_ms, sent[2].audio_end_ms], [700, 700]);
});

test("an answer that the end of the conversation cut shows what was heard of it", async () => {
  const cuts = [{ response: "r1", item: "a1", content: 0, playedMs: 500, receivedMs: 2000 }];
  const { store, happen } = open({ cuts });
  happen("answer.delta", { response: "r1", item: "a1", content: 0, text: "Oxygen in cage four is fine today." });
  happen("link.ended", { problem: { code: "operator", ref: "", retryAt: null } });
  await Promise.resolve();
  const [line] = store.model.lines;
  assert.equal(textOf(line).slice(0, line.heard), "Oxygen");
});

test("progress is told once a second, the end always", () => {
  const { call, sent } = open();
  for (let ms = 0; ms <= 2500; ms += 30) call.heard("a1", 0, ms);
  call.heardAll("a1", 0, 2600);
  assert.deepEqual(
    sent.map((event) => event.played_ms),
    [1020, 2040, 2600],
  );
});

test("sound of the answer goes to the loudspeaker as samples", () => {
  const { happen, played } = open();
  happen("answer.sound", { response: "r1", item: "a1", content: 0, audio: "AQACAA==" });
  assert.deepEqual([...played[0].samples], [1, 2]);
});

test("a question that nobody answers does not look like thinking for ever", async () => {
  const { call, store } = open();
  await call.type("Anybody?");
  mock.timers.tick(29_000);
  assert.equal(store.model.call.turn.awaiting, true);
  mock.timers.tick(1000);
  assert.equal(store.model.call.turn.awaiting, false);
});
