/** Finished turns, as the server keeps them, joined with the lines that the page already has. Pure. */

import { pastChip } from "./chips.js";
import { line, textOf } from "./transcript.js";

/**
 * @typedef {import("./types.js").Line} Line
 * @typedef {import("./types.js").Chip} Chip
 * @typedef {import("./types.js").PastTurn} PastTurn
 */

/**
 * Finished turns at the last look, and how many of the caller's lines they account for.
 * @typedef {{turns: number, callers: number}} Known
 */

/** @param {readonly Line[]} lines */
export const countCallers = (lines) =>
  lines.filter((one) => one.kind === "caller" && !one.delivery && textOf(one)).length;

/**
 * @param {PastTurn} turn
 * @returns {{lines: Line[], chips: Chip[]}}
 */
function linesOf(turn) {
  const chips = turn.tools.map((tool, i) => pastChip(`past-${turn.index}-tool-${i}`, tool));
  const at = Date.parse(turn.started_at ?? "") || 0;
  const lines = chips.map(({ id }) => line(id, "tool", { settled: true, at }));
  const said = turn.caller_text ?? "";
  const heard = turn.heard_text ?? "";
  if (said) lines.unshift(line(`past-${turn.index}-caller`, "caller", { parts: [said], settled: true, at }));
  if (heard) {
    const cut = turn.outcome === "done" ? null : heard.length;
    const of = { turn: turn.index, rating: turn.rating ?? null, at };
    lines.push(line(`past-${turn.index}-answer`, "answer", { parts: [heard], settled: true, heard: cut, ...of }));
  }
  return { lines, chips };
}

/**
 * The caller's last question still waits for its answer on this page.
 * @param {readonly Line[]} lines
 */
function unanswered(lines) {
  const last = lines.findLast((one) => one.kind === "caller" || (one.kind === "answer" && textOf(one)));
  return last?.kind === "caller";
}

/**
 * Adds what happened while the page was away; never twice, and before what still waits to be sent.
 * @param {readonly Line[]} lines
 * @param {PastTurn[]} turns
 * @param {Known} known
 * @returns {{lines: Line[], chips: Chip[], known: Known}}
 */
export function catchUp(lines, turns, known) {
  const waiting = lines.filter((one) => one.delivery === "waiting");
  const here = lines.filter((one) => one.delivery !== "waiting");
  const finished = turns.length - known.turns;
  const seen = countCallers(here) - known.callers;
  /** @type {{lines: Line[], chips: Chip[]}[]} */
  let added = [];
  if (finished > seen) {
    added = turns.slice(seen - finished).map(linesOf);
  } else if (finished === seen && finished > 0 && unanswered(here)) {
    const { lines: last, chips } = linesOf(turns[turns.length - 1]);
    const answer = last.filter((one) => one.kind === "answer");
    added = [{ lines: answer, chips }];
  }
  const all = [...here, ...added.flatMap((one) => one.lines)];
  const running = Math.max(0, seen - finished);
  return {
    lines: [...all, ...waiting],
    chips: added.flatMap((one) => one.chips),
    known: { turns: turns.length, callers: countCallers(all) - running },
  };
}
