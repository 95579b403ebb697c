/** Server events become happenings; what is unknown or broken means nothing. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { readFrame } from "../static/conversations/events.js";

const read = (event, now = 0) => readFrame(JSON.stringify(event), now);

test("broken, unknown and inherited names mean nothing", () => {
  for (const frame of ["", "{", "null", "[]", '"x"', '{"type":"toString"}', '{"type":7}', '{"type":"new.event"}']) {
    assert.equal(readFrame(frame, 0), null, frame);
  }
  assert.equal(read({ label: "rtvi-ai", type: "ui-command", data: { command: "boom" } }), null);
});

test("fields of another type do not get through", () => {
  const event = read({ type: "vocero.tool.started", call_id: 7, name: { a: 1 }, label: ["x"] }, 5);
  assert.deepEqual(event, { type: "tool.started", id: "", name: "", label: "", at: 5 });
  const progress = read({ type: "vocero.tool.progress", call_id: "c", progress: "1", total: 0, message: null });
  assert.deepEqual(progress, { type: "tool.progress", id: "c", progress: null, message: "" });
});

test("an empty transcript is noise, a failed one has a reason", () => {
  const base = "conversation.item.input_audio_transcription.";
  assert.deepEqual(read({ type: `${base}completed`, item_id: "u", transcript: " " }), {
    type: "caller.unheard",
    item: "u",
    code: "",
  });
  assert.equal(
    read({ type: `${base}failed`, item_id: "u", error: { code: "stt_unavailable" } }).code,
    "stt_unavailable",
  );
  assert.equal(read({ type: `${base}failed`, item_id: "u" }).code, "not_understood");
});

test("sound without a response id belongs to its item", () => {
  const event = read({ type: "response.output_audio.delta", item_id: "i", delta: "AAAA" });
  assert.deepEqual(event, { type: "answer.sound", response: "i", item: "i", content: 0, audio: "AAAA" });
});

test("a tool's sources are titles only", () => {
  const event = read({
    type: "vocero.tool.completed",
    call_id: "c",
    name: "get_report",
    duration_ms: 12,
    sources: [{ title: "North" }, {}, null, { title: 4 }],
  });
  assert.deepEqual(event.sources, ["North"]);
});

test("a function call never becomes an answer", () => {
  assert.equal(
    read({ type: "response.output_item.added", response_id: "r", item: { id: "i", type: "function_call" } }),
    null,
  );
});

test("errors carry code, reference and what they are about; harmless races are silent", () => {
  const error = { code: "forbidden_event", message: "No.", ref: "ab12", event_id: "typed-1", retry_after_ms: 500 };
  assert.deepEqual(read({ type: "error", error }), {
    type: "trouble",
    code: "forbidden_event",
    message: "No.",
    ref: "ab12",
    retryMs: 500,
    about: "typed-1",
  });
  assert.equal(read({ type: "error", error: { code: "response_cancel_not_active" } }), null);
  assert.equal(read({ type: "error", code: "idle", message: "" }).code, "idle");
});

test("times become moments of the page's clock", () => {
  assert.equal(read({ type: "vocero.conversation.expiring", seconds: 60 }, 1000).at, 61_000);
  assert.equal(read({ type: "vocero.speech.lost", retry_in_ms: 250 }, 1000).retryAt, 1250);
});
