/** What a brain asks of the screen: from the server's command to what the page does about it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { deedOf } from "../static/conversations/actions.js";
import { readFrame } from "../static/conversations/events.js";
import { FIRST, stepModel } from "../static/conversations/model.js";

const HERE = "https://voice.example";

/** @param {object} data */
const told = (data) => readFrame(JSON.stringify({ label: "rtvi-ai", type: "ui-command", id: "a1", data }), 0);

test("a command is handed on with its id, whatever it is", () => {
  const asked = told({ command: "show_chart", payload: { cage: 4 } });
  assert.deepEqual(asked, { type: "action.asked", id: "a1", command: "show_chart", payload: { cage: 4 } });
  assert.deepEqual(told({ command: "toast", payload: "text" }).payload, {});
  assert.equal(told({ command: 7 }), null);
  assert.equal(readFrame('{"type":"ui-command","id":"1","data":{"command":"toast"}}', 0), null);
});

test("a command that the page does not know breaks nothing", () => {
  assert.deepEqual(deedOf("show_chart", { cage: 4 }, HERE), { act: "unknown" });
  assert.deepEqual(deedOf("constructor", {}, HERE), { act: "unknown" });
  assert.deepEqual(stepModel(FIRST, told({ command: "show_chart" })), FIRST);
});

test("a toast and a place to look at are short texts", () => {
  assert.deepEqual(deedOf("toast", { text: " Saved. " }, HERE), { act: "toast", text: "Saved." });
  assert.deepEqual(deedOf("highlight", { id: "question" }, HERE), { act: "highlight", target: "question" });
  for (const text of ["", " ", 7, null, "x".repeat(301)]) {
    assert.deepEqual(deedOf("toast", { text }, HERE), { act: "refused" });
    assert.deepEqual(deedOf("highlight", { id: text }, HERE), { act: "refused" });
  }
});

test("only a path of this very site can be gone to", () => {
  assert.deepEqual(deedOf("navigate", { path: "/admin/?a=1#b" }, HERE), { act: "navigate", path: "/admin/?a=1#b" });
  assert.deepEqual(deedOf("navigate", { path: "/a/../b" }, HERE), { act: "navigate", path: "/b" });
  const elsewhere = [
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example/",
    "\\\\evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "relative",
    "",
    7,
    null,
  ];
  for (const path of elsewhere) assert.deepEqual(deedOf("navigate", { path }, HERE), { act: "refused" }, String(path));
});
