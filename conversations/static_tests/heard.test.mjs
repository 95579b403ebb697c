/** How much of a text was heard: whole words, whole characters, and what the server's record says. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { heardLength, wordEnd } from "../static/conversations/heard.js";

const TEXTS = ["Hi 👍🏽 you 🇪🇸🇫🇷 ok", "日本語です。", "e\u0301te\u0301 bon", "👨‍👩‍👧 fam 👩🏿‍🚒!", "हिन्दी में", "한국어 말", "one two", ""];

const graphemes = (text) => Array.from(new Intl.Segmenter("en").segment(text), (one) => one.segment);

test("no cut goes through a character, whatever was played", () => {
  for (const text of TEXTS) {
    const whole = new Set(graphemes(text).reduce((ends, one) => [...ends, ends.at(-1) + one.length], [0]));
    for (let ms = 0; ms <= 1000; ms += 7) {
      const end = heardLength(text, ms, 1000);
      assert.ok(whole.has(end), `${text} at ${ms}: ${JSON.stringify(text.slice(0, end))}`);
    }
  }
});

test("more sound never means less text, none is nothing, all is all", () => {
  for (const text of TEXTS) {
    const ends = Array.from({ length: 101 }, (_, share) => heardLength(text, share * 10, 1000));
    assert.deepEqual(
      ends.toSorted((a, b) => a - b),
      ends,
    );
    assert.deepEqual([ends[0], ends.at(-1)], [0, text.length]);
  }
});

test("a cut falls behind a word, and between letters where words have no spaces", () => {
  assert.deepEqual(
    [0, 3, 4, 6, 7].map((letters) => wordEnd("one two", letters)),
    [0, 3, 3, 3, 7],
  );
  assert.deepEqual(
    [0, 1, 2, 3].map((letters) => wordEnd("日本語", letters)),
    [0, 1, 2, 3],
  );
});

test("while more sound may come, a word is only spoken as fast as anybody speaks", () => {
  const text = "word ".repeat(200).trim();
  assert.equal(heardLength(text, 1000, 1000, true), text.length);
  assert.equal(heardLength(text, 1000, 1000, false), 24);
});

test("the server cuts at the same places", () => {
  // conversations/tests/test_core_heard_truth.py has the same table.
  const cases = [
    ["Oxygen in cage four is fine today.", 500, 2000, "Oxygen"],
    ["Oxygen in cage four is fine today.", 1000, 2000, "Oxygen in cage"],
    ["日本語です", 500, 1000, "日本"],
    ["Good 👍🏽 day", 600, 1000, "Good"],
  ];
  for (const [text, played, received, heard] of cases)
    assert.equal(text.slice(0, heardLength(text, played, received)), heard);
});
