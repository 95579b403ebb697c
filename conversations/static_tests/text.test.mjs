/** What the page says in another language, and what a stranger's words cannot make it say. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { duration, number, say, speak, translated } from "../static/conversations/text.js";

afterEach(() => speak(undefined));

test("a sentence is said in the page's language, and in English where that does not know it", () => {
  speak({ Listening: "Te escucho", "{time} left": "Quedan {time}" }, "es");
  assert.equal(say("phase.listening"), "Te escucho");
  assert.equal(say("sheet.left", { time: duration(4000) }), "Quedan 4 s");
  assert.equal(say("phase.muted"), "Muted");
});

test("numbers are written as the language writes them", () => {
  assert.equal(number(0.64, 1).replace(",", "."), "0.6");
  speak({}, "es");
  assert.equal(number(0.64, 1), "0,6");
  assert.equal(number(98765.4), "98.765");
});

test("what the server says is translated where it is known and otherwise said as it is", () => {
  speak({ "You may not see this.": "No tienes permiso para ver esto." }, "es");
  assert.equal(translated("You may not see this."), "No tienes permiso para ver esto.");
  for (const strange of ["constructor", "__proto__", "Another sentence.", ""]) assert.equal(translated(strange), strange);
});
