/** The caller's sound: hands-free or held, never the assistant's own, and from a device that is there. */

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { MicrophoneError } from "../static/conversations/audio/microphone.js";
import { Call } from "../static/conversations/call.js";
import { Store } from "../static/conversations/model.js";
import { phaseOf } from "../static/conversations/state.js";

mock.timers.enable({ apis: ["setTimeout"] });
beforeEach(() => mock.timers.reset());
beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));

const FRAME = new Int16Array(480);
const READY = { type: "ready", caller: null, toolsError: "" };

/** Devices that only remember; `opens` are the outcomes of the next openings. */
function scene({ way = "hands_free", cancelsEcho = true, opens = [], permission = "granted", input = "" } = {}) {
  const sent = [];
  const link = { send: (event) => sent.push(event) > 0, start() {}, reconnect() {}, hurry() {} };
  const speaker = { unlock: async () => {}, play() {}, end() {}, flush: async () => [], close() {} };
  const microphone = {
    asked: [],
    isOpen: false,
    muted: false,
    cancelsEcho,
    using: { id: "", label: "" },
    permission: async () => permission,
    async open(id) {
      this.asked.push(id);
      const outcome = await (opens.shift() ?? { id, label: "Built-in" });
      if (outcome instanceof Error) throw outcome;
      this.using = outcome;
      this.isOpen = Boolean(outcome);
      return this.isOpen;
    },
    mute(muted) {
      this.muted = muted;
    },
    close() {
      this.isOpen = false;
    },
  };
  const store = new Store();
  const call = new Call({ store, link, speaker, microphone });
  store.watch((event) => call.react(event));
  store.dispatch({ type: "preferences.recalled", way, input, output: "" });
  for (const type of ["link.starting", "link.connecting", "link.ready"]) store.dispatch({ type });
  store.dispatch(READY);
  const said = { store, microphone, link, call, listening: call.listening };
  return { ...said, sent, types: () => sent.map((event) => event.type), phase: () => phaseOf(store.model.call) };
}

const COMMITTED = { type: "talk.committed", item: "u1" };
const settled = () => new Promise((resolve) => setImmediate(resolve));

async function held(options) {
  const made = scene({ way: "push", ...options });
  made.listening.hold();
  await settled();
  return made;
}

function speak(listening, ms) {
  for (let at = 0; at < ms; at += 20) listening.take(FRAME);
}

test("without an echo canceller the microphone rests while the assistant is heard (case 159)", async () => {
  const { listening, store, types } = scene({ cancelsEcho: false });
  await listening.press();
  store.dispatch({ type: "sound.playing", playing: true });
  listening.take(FRAME);
  store.dispatch({ type: "sound.playing", playing: false });
  listening.take(FRAME);
  assert.deepEqual(types(), []);
  mock.timers.tick(300);
  listening.take(FRAME);
  assert.deepEqual(types(), ["input_audio_buffer.append"]);
});

test("where it cannot tell its own voice the page offers to hold instead, and a press takes it up (case 159)", async () => {
  const { listening, store, call, sent } = scene({ cancelsEcho: false });
  await listening.press();
  assert.deepEqual([store.model.remark.text, store.model.remark.deed], ["talk.echo", "push"]);
  await call.act("push");
  assert.deepEqual([store.model.way, store.model.remark, store.model.call.microphone], ["push", null, "off"]);
  assert.equal(sent.at(-1).session.audio.input.turn_detection, null);
});

test("with one, what is said over the answer goes out", async () => {
  const { listening, store, types } = scene();
  await listening.press();
  store.dispatch({ type: "sound.playing", playing: true });
  listening.take(FRAME);
  assert.deepEqual(types(), ["input_audio_buffer.append"]);
});

test("a microphone that stops leaves silence behind, so that the last sentence ends", async () => {
  const { listening, sent } = scene();
  await listening.press();
  await listening.press();
  assert.equal(sent.length, 1);
  assert.equal(Buffer.from(sent[0].audio, "base64").length, 2 * 24_000 * 0.8);
});

test("a refused microphone says which of the reasons it was", async () => {
  const { listening, store } = scene({ opens: [new MicrophoneError("busy")] });
  await listening.press();
  assert.deepEqual([store.model.microphoneProblem, store.model.call.microphone], ["busy", "off"]);
});

test("a held talk is one question: the service waits for its end", async () => {
  const { listening, store, sent, types, phase } = await held();
  assert.equal(sent[0].session.audio.input.turn_detection, null);
  assert.equal(phase(), "hearing");
  speak(listening, 400);
  listening.release();
  listening.take(FRAME);
  mock.timers.tick(200);
  assert.equal(types().at(-1), "input_audio_buffer.commit");
  store.dispatch(COMMITTED);
  store.dispatch(COMMITTED);
  const appended = Array(21).fill("input_audio_buffer.append");
  const asked = ["input_audio_buffer.commit", "response.create"];
  assert.deepEqual(types(), ["session.update", "input_audio_buffer.clear", ...appended, ...asked]);
  assert.equal(phase(), "thinking");
  listening.take(FRAME);
  assert.equal(sent.length, 25);
});

test("a finger that slips for a moment does not end the talk", async () => {
  const { listening, types, phase } = await held();
  speak(listening, 400);
  listening.release();
  mock.timers.tick(150);
  listening.hold();
  mock.timers.tick(500);
  assert.equal(phase(), "hearing");
  assert.ok(!types().includes("input_audio_buffer.commit"));
});

test("a tap is no question, and the page says how to hold", async () => {
  const { listening, store, types, phase } = await held();
  speak(listening, 100);
  listening.release();
  mock.timers.tick(200);
  assert.equal(types().at(-1), "input_audio_buffer.clear");
  assert.deepEqual([phase(), store.model.remark.text], ["ready", "talk.short"]);
});

test("a hold that is cancelled asks nothing", async () => {
  const { listening, types, phase } = await held();
  speak(listening, 2000);
  listening.drop();
  assert.ok(!types().includes("input_audio_buffer.commit"));
  assert.deepEqual([types().at(-1), phase()], ["input_audio_buffer.clear", "ready"]);
});

test("holding over an answer ends it first; over a sheet it ends nothing", async () => {
  const { listening, store, types } = scene({ way: "push" });
  await listening.try();
  store.dispatch({ type: "response.started", response: "r1" });
  listening.hold();
  assert.deepEqual(types().slice(1), ["response.cancel", "input_audio_buffer.clear"]);
  listening.drop();
  store.dispatch({ type: "sheet.opened", sheet: { nonce: "n", label: "", summary: [], openedAt: 0, endsAt: 9 } });
  listening.hold();
  assert.equal(types().filter((type) => type === "response.cancel").length, 1);
});

test("let go before the prompt is answered: nothing stays open, and the next hold works (case 157)", async () => {
  let grant;
  const opens = [new Promise((resolve) => (grant = resolve))];
  const { listening, store, microphone, phase, types } = scene({ way: "push", opens });
  listening.hold();
  listening.release();
  assert.equal(phase(), "awaiting_microphone");
  store.dispatch({ type: "link.lost", retryAt: 0, code: "lost" });
  grant({ id: "", label: "Built-in" });
  await settled();
  assert.deepEqual([microphone.isOpen, store.model.call.microphone], [false, "off"]);
  store.dispatch({ type: "link.ready" });
  store.dispatch(READY);
  assert.equal(store.model.remark.text, "talk.again");
  listening.hold();
  await settled();
  assert.equal(phase(), "hearing");
  assert.equal(types().filter((type) => type === "session.update").length, 2);
});

test("between two talks the microphone stays open for a minute, and nothing of it is sent", async () => {
  const { listening, microphone, sent } = await held();
  speak(listening, 400);
  listening.release();
  mock.timers.tick(200);
  const before = sent.length;
  mock.timers.tick(59_000);
  speak(listening, 400);
  assert.deepEqual([microphone.isOpen, sent.length], [true, before]);
  mock.timers.tick(1000);
  assert.equal(microphone.isOpen, false);
});

test("a service that finds the ends of sentences by itself gets silence instead of a commit", async () => {
  const { listening, store, types } = await held();
  speak(listening, 400);
  store.dispatch({ type: "heard.started", item: "u1" });
  listening.release();
  mock.timers.tick(200);
  assert.equal(types().at(-1), "input_audio_buffer.append");
  assert.ok(!types().includes("response.create"));
});

test("back to hands-free the service listens for pauses again, also when the line was away meanwhile", async () => {
  const { listening, store, sent } = await held();
  listening.chooseWay("hands_free");
  assert.deepEqual(sent.at(-1).session.audio.input.turn_detection, { type: "server_vad" });
  listening.chooseWay("push");
  store.dispatch({ type: "link.lost", retryAt: 0, code: "lost" });
  listening.chooseWay("hands_free");
  const before = sent.length;
  store.dispatch({ type: "link.connecting" });
  store.dispatch({ type: "link.ready" });
  store.dispatch(READY);
  assert.deepEqual(sent.slice(before).map((event) => event.session.audio.input.turn_detection), [{ type: "server_vad" }]);
});

test("hands-free from the beginning the service is told nothing about it", () => {
  assert.deepEqual(scene().types(), []);
});

test("one press begins and one ends for those who cannot hold", async () => {
  const { listening, types, phase } = scene({ way: "push" });
  await listening.press();
  await settled();
  assert.equal(phase(), "hearing");
  speak(listening, 400);
  await listening.press();
  mock.timers.tick(200);
  assert.equal(types().at(-1), "input_audio_buffer.commit");
});

test("a trial sends nothing, and ends with the sheet", async () => {
  const { listening, sent, microphone } = scene();
  await listening.try();
  listening.take(FRAME);
  assert.deepEqual([sent, microphone.isOpen], [[], true]);
  listening.endTry();
  assert.equal(microphone.isOpen, false);
});

test("the chosen microphone is asked for; where it is away the page says so", async () => {
  const { listening, microphone, store } = scene({ input: "usb", opens: [{ id: "built-in", label: "Built-in" }] });
  await listening.press();
  assert.deepEqual(microphone.asked, ["usb"]);
  assert.deepEqual([store.model.remark.text, store.model.remark.detail], ["devices.input_gone", "Built-in"]);
});

test("another microphone takes over in mid-call, and stays muted if it was", async () => {
  const { listening, microphone, store } = scene();
  await listening.press();
  listening.toggleMute();
  microphone.muted = false;
  await listening.chooseInput("usb");
  assert.deepEqual([microphone.asked, microphone.muted], [["", "usb"], true]);
  assert.equal(store.model.chosen.input, "usb");
});

test("a lost microphone is replaced by the default one, in a word", async () => {
  const { listening, store } = scene({ input: "usb" });
  await listening.press();
  await listening.lost();
  assert.deepEqual([store.model.call.microphone, store.model.remark.text], ["on", "devices.input_replaced"]);
});

test("with no other microphone it is lost, with the permission revoked it is refused", async () => {
  const cases = [
    [{ opens: [undefined, new MicrophoneError("missing")] }, "lost"],
    [{ permission: "unknown" }, "lost"],
    [{ permission: "denied" }, "denied"],
    [{ permission: "prompt" }, "denied"],
  ];
  for (const [options, problem] of cases) {
    const { listening, store } = scene(options);
    await listening.press();
    await listening.lost();
    assert.deepEqual([store.model.microphoneProblem, store.model.call.microphone], [problem, "off"]);
  }
});

test("a new line may be to a service that waits for the end", async () => {
  const { listening, store, types } = await held();
  store.dispatch({ type: "heard.started", item: "u1" });
  listening.drop();
  store.dispatch({ type: "link.lost", retryAt: 0, code: "lost" });
  store.dispatch({ type: "link.ready" });
  store.dispatch(READY);
  listening.hold();
  speak(listening, 400);
  listening.release();
  mock.timers.tick(200);
  assert.equal(types().at(-1), "input_audio_buffer.commit");
});

test("a muted microphone that is replaced is replaced by a muted one", async () => {
  const { listening, microphone, store } = scene();
  await listening.press();
  listening.toggleMute();
  microphone.muted = false;
  await listening.lost();
  assert.deepEqual([microphone.muted, store.model.call.microphone], [true, "muted"]);
});

test("a hold that finds no microphone can be tried again", async () => {
  const { listening, phase } = await held({ opens: [new MicrophoneError("missing")] });
  assert.equal(phase(), "ready");
  listening.hold();
  await settled();
  assert.equal(phase(), "hearing");
});
