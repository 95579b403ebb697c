/** The sentence that is said just now, for somebody who reads along. Pure. */

import { lettersHeard, wordEnd } from "./heard.js";
import { textOf } from "./transcript.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./types.js").Line} Line
 * @typedef {{who: "caller" | "answer", text: string}} Caption
 */

/** So much is read at a glance; a longer sentence comes in pieces. */
const LONGEST = 96;
const SENTENCE = /[^.!?…。！？\n]+[.!?…。！？]*["'»”)\]]*\s*|[.!?…。！？\n]+\s*/gu;

/**
 * @param {string} sentence
 * @returns {string[]} pieces that end with a word
 */
function pieces(sentence) {
  const found = [];
  let rest = sentence;
  while (rest.length > LONGEST) {
    const most = [...rest].slice(0, LONGEST);
    const end = wordEnd(rest, most.length) || most.join("").length;
    found.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return [...found, rest];
}

/**
 * @param {string} text
 * @param {number} end how much of it is said, as an index
 * @returns {string} the said part of the sentence that is being said
 */
export function sentenceAt(text, end) {
  let start = 0;
  let last = "";
  for (const piece of (text.match(SENTENCE) ?? []).flatMap(pieces)) {
    if (start >= end) break;
    const said = text.slice(start, Math.min(start + piece.length, end)).trim();
    last = said || last;
    start += piece.length;
  }
  return last;
}

/**
 * @param {Line} line
 * @param {Model} model
 * @returns {string}
 */
function spokenOf(line, { spoken, received }) {
  const text = textOf(line);
  const heard = line.heard ?? text.length;
  if (spoken?.item !== line.id) return sentenceAt(text, heard);
  const letters = lettersHeard(text, spoken.playedMs, received[line.id] ?? 0, line.whole);
  return sentenceAt(text, Math.min(wordEnd(text, letters), heard));
}

/**
 * What the loudspeaker says, in time with its sound; else what was said or written last.
 * @param {Model} model
 * @returns {Caption | null}
 */
export function captionOf(model) {
  const { lines, spoken, received } = model;
  const playing = spoken ? lines.find((one) => one.id === spoken.item) : null;
  const newest = lines.findLast((one) => one.kind !== "tool");
  const line = playing ?? newest;
  if (!line || (line.kind !== "caller" && line.kind !== "answer")) return null;
  // Words come before their sound: what waits for it is not shown yet.
  if (line.kind === "answer" && !playing && received[line.id] && line.heard === null) return null;
  const text = spokenOf(line, model);
  return text ? { who: line.kind, text } : null;
}
