/** Sheets that wait for a tap: from the server's command to the answer. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { Call } from "../static/conversations/call.js";
import { readFrame } from "../static/conversations/events.js";
import { Store } from "../static/conversations/model.js";
import { isOpen, stepSheets } from "../static/conversations/sheets.js";
import { phaseOf } from "../static/conversations/state.js";

mock.timers.enable({ apis: ["setTimeout"] });

const NOW = 1_000_000;

/** @param {string} command @param {object} payload */
const told = (command, payload) =>
  readFrame(JSON.stringify({ label: "rtvi-ai", type: "ui-command", id: "1", data: { command, payload } }), NOW);

const opening = (nonce, more = {}) =>
  told("open_confirm", {
    nonce,
    call_id: "c",
    label: "Order feed",
    summary: [{ label: "Cage", value: "4" }],
    expires_in: 90,
    ...more,
  });

function scene(reaches = true) {
  const sent = [];
  const link = { send: (event) => reaches && sent.push(event) > 0, start() {}, reconnect() {}, hurry() {} };
  const speaker = { unlock: async () => {}, play() {}, end() {}, flush: async () => [] };
  const store = new Store();
  const call = new Call({ store, link, speaker, microphone: { close() {}, mute() {} } });
  store.watch((event) => call.react(event));
  for (const type of ["link.starting", "link.connecting", "link.ready"]) store.dispatch({ type });
  return { call, store, sent };
}

test("a command opens a sheet with what it shows and its own end", () => {
  assert.deepEqual(opening("n1"), {
    type: "sheet.opened",
    sheet: {
      nonce: "n1",
      label: "Order feed",
      summary: [{ label: "Cage", value: "4" }],
      openedAt: NOW,
      endsAt: NOW + 90_000,
    },
  });
});

test("a command of another shape, kind or sender means nothing", () => {
  for (const payload of [{}, { nonce: 7 }, null, "text"]) assert.equal(told("open_confirm", payload), null);
  assert.equal(readFrame('{"type":"ui-command","data":{"command":"open_confirm","payload":{"nonce":"n"}}}', NOW), null);
  assert.deepEqual(opening("n", { summary: "x", expires_in: "y", label: 3 }).sheet.summary, []);
  assert.equal(opening("n", { expires_in: "y" }).sheet.endsAt, NOW);
});

test("sheets wait in their order, and each leaves alone", () => {
  let sheets = stepSheets([], opening("n1"));
  sheets = stepSheets(sheets, opening("n2"));
  assert.deepEqual(
    sheets.map((one) => one.nonce),
    ["n1", "n2"],
  );
  assert.equal(stepSheets(sheets, { type: "sheet.closed", nonce: "other", reason: "" }), sheets);
  sheets = stepSheets(sheets, told("close_confirm", { nonce: "n1", reason: "expired" }));
  assert.deepEqual(
    sheets.map((one) => one.nonce),
    ["n2"],
  );
});

test("a line that goes takes the sheets with it", () => {
  for (const type of ["link.lost", "link.ended", "link.failed", "link.starting"]) {
    assert.deepEqual(stepSheets(stepSheets([], opening("n1")), { type }), []);
  }
});

test("a tap counts from half a second after the sheet came until its end", () => {
  const { sheet } = opening("n1");
  assert.deepEqual(
    [0, 499, 500, 89_999, 90_000].map((ms) => isOpen(sheet, NOW, NOW + ms)),
    [false, false, true, true, false],
  );
});

test("an answer goes out with its nonce, once, and the sheet goes", () => {
  const { call, store, sent } = scene();
  store.dispatch(opening("n1"));
  assert.equal(phaseOf(store.model.call), "thinking");
  call.confirm("n1", "yes");
  call.confirm("n1", "no");
  assert.equal(sent.length, 1);
  const [{ id, ...message }] = sent;
  assert.ok(id);
  assert.deepEqual(message, {
    label: "rtvi-ai",
    type: "client-message",
    data: { t: "confirm_answer", d: { nonce: "n1", answer: "yes" } },
  });
  assert.deepEqual(store.model.sheets, []);
});

test("an answer that does not leave keeps the sheet", () => {
  const { call, store } = scene(false);
  store.dispatch(opening("n1"));
  call.confirm("n1", "no");
  assert.equal(store.model.sheets.length, 1);
});

test("while a sheet waits the page does not give up on the answer", () => {
  const { call, store } = scene();
  void call.type("Order feed.");
  store.dispatch(opening("n1"));
  mock.timers.tick(60_000);
  assert.equal(phaseOf(store.model.call), "thinking");
});
