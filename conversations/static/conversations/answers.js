/** What belongs to an answer besides its words: where it comes from, and whether it can be rated. Pure. */

import { isBusy } from "./state.js";
import { textOf } from "./transcript.js";

/**
 * @typedef {import("./types.js").Line} Line
 */

/**
 * The last answer to each question carries the sources of all tools that were used for it.
 * @param {readonly Line[]} lines
 * @param {import("./chips.js").Chips} chips
 * @returns {Map<string, string[]>} titles by the answer's id, each once
 */
export function sourcesOf(lines, chips) {
  const found = new Map();
  /** @type {string[]} */
  let titles = [];
  let last = "";
  for (const one of lines) {
    if (one.kind === "caller" || one.kind === "break") {
      titles = [];
      last = "";
    } else if (one.kind === "tool") {
      titles = [...new Set([...titles, ...(chips[one.id]?.sources ?? [])])];
    } else if (titles.length && textOf(one)) {
      found.delete(last);
      last = one.id;
      found.set(last, titles);
    }
  }
  return found;
}

/**
 * The answers that can be rated: of each turn that is over the last one.
 * @param {import("./model.js").Model} model
 * @returns {Set<string>} ids
 */
export function rateable({ lines, call, turn }) {
  const last = new Map();
  for (const one of lines) {
    if (one.kind === "answer" && one.turn !== null && one.settled && textOf(one)) last.set(one.turn, one.id);
  }
  if (turn !== null && isBusy(call.turn)) last.delete(turn);
  return new Set(last.values());
}
