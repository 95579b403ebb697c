/** What both sides said, in order, keyed by item. Pure. */

import { heardLength } from "./heard.js";

/**
 * @typedef {import("./types.js").Line} Line
 * @typedef {import("./types.js").Happening} Happening
 * @typedef {readonly Line[]} Lines
 * @typedef {{turn: number | null, now: number}} Moment the turn that is answered, and ms of the page's clock
 */

/**
 * @param {string} id
 * @param {Line["kind"]} kind
 * @param {Partial<Line>} [more]
 * @returns {Line}
 */
export function line(id, kind, more) {
  const nothing = { parts: [], settled: false, heard: null, delivery: null, response: null, whole: false };
  return { id, key: id, kind, ...nothing, turn: null, rating: null, at: 0, ...more };
}

/** @param {Line} line */
export const textOf = (line) => line.parts.filter(Boolean).join(" ");

/**
 * @param {Lines} lines
 * @returns {boolean} whether anything has been answered, if only by its first words
 */
export const isAnswered = (lines) => lines.some(({ kind }) => kind === "answer");

/**
 * @param {Lines} lines
 * @param {string} id
 * @param {(line: Line) => Partial<Line>} change
 * @returns {Lines}
 */
function update(lines, id, change) {
  return lines.map((one) => (one.id === id ? { ...one, ...change(one) } : one));
}

/**
 * Lines before this place are final: they keep it.
 * @param {Lines} lines
 */
export function firstOpen(lines) {
  const open = lines.findIndex((one) => !one.settled && one.kind !== "tool");
  return open < 0 ? lines.length : open;
}

/**
 * Where a line goes that comes after this item: behind it and the tools that it started; else at the end.
 * @param {Lines} lines
 * @param {string | null} after
 */
function placeAfter(lines, after) {
  const known = after ? lines.findIndex((one) => one.id === after) : -1;
  if (known < 0) return lines.length;
  let at = known + 1;
  while (lines[at]?.kind === "tool") at += 1;
  return Math.max(at, firstOpen(lines));
}

/**
 * @param {Lines} lines
 * @param {Line} added
 * @param {string | null} [after]
 * @returns {Lines} with it in place, unless it is there already
 */
function place(lines, added, after = null) {
  if (lines.some((one) => one.id === added.id)) return lines;
  const at = placeAfter(lines, after);
  return [...lines.slice(0, at), added, ...lines.slice(at)];
}

/**
 * A line that turns out to come after another one, which stands behind it, moves there, as long as it is open.
 * @param {Lines} lines
 * @param {string} id
 * @param {string | null} after
 * @returns {Lines}
 */
function reorder(lines, id, after) {
  const [from, behind] = [id, after].map((one) => lines.findIndex((other) => other.id === one));
  if (from < firstOpen(lines) || behind < from) return lines;
  const rest = lines.filter((one) => one.id !== id);
  const at = placeAfter(rest, after);
  return [...rest.slice(0, at), lines[from], ...rest.slice(at)];
}

/**
 * The caller's line, where nothing told of it before its words: a question stands before the answer that is given.
 * @param {Lines} lines
 * @param {string} item
 * @param {number} at
 * @returns {Lines}
 */
function placeQuestion(lines, item, at) {
  if (lines.some((one) => one.id === item)) return lines;
  const before = lines.findLastIndex((one) => one.kind === "caller" || one.kind === "break");
  const answers = lines.slice(before + 1).filter((one) => one.kind === "answer");
  const answered = lines[before]?.kind === "caller" || answers.every((one) => one.settled);
  const place = answered ? lines.length : Math.max(before + 1, firstOpen(lines));
  return [...lines.slice(0, place), line(item, "caller", { at }), ...lines.slice(place)];
}

/**
 * @param {readonly string[]} parts
 * @param {number} content
 * @param {string} text
 */
function setPart(parts, content, text) {
  const copy = Array.from({ length: Math.max(parts.length, content + 1) }, (_, i) => parts[i] ?? "");
  copy[content] = text;
  return copy;
}

/**
 * The first typed message on its way has arrived.
 * @param {Lines} lines
 * @param {Partial<Line>} [more]
 * @param {string} [text]
 * @returns {Lines}
 */
function arrive(lines, more, text) {
  const first = lines.find((one) => one.delivery === "sending" && (text === undefined || textOf(one) === text));
  return first ? update(lines, first.id, () => ({ delivery: null, ...more })) : lines;
}

/**
 * The line to the server is gone: what is open stays as it is.
 * @param {Lines} lines
 * @returns {Lines}
 */
function freeze(lines) {
  return lines.map((one) => {
    if (one.delivery === "sending") return { ...one, delivery: "unsure" };
    if (one.settled) return one;
    return { ...one, settled: true, heard: one.kind === "answer" ? textOf(one).length : null };
  });
}

/**
 * @param {Lines} lines
 * @param {string} response
 * @param {boolean} cut the caller spoke over it
 * @returns {Lines} its answers settled, and every caller's line before them
 */
function settle(lines, response, cut) {
  const last = lines.findLastIndex((one) => one.response === response);
  return lines.map((one, i) => {
    if (one.kind === "tool" || (one.settled && one.response !== response)) return one;
    if (one.settled) return one.whole ? one : { ...one, whole: true };
    if (one.response === response)
      return { ...one, settled: true, whole: true, heard: cut ? textOf(one).length : one.heard };
    return i < last ? { ...one, settled: true } : one;
  });
}

/**
 * @param {Lines} lines
 * @param {boolean} sameCaller
 * @returns {Lines} nobody else's words; what was typed and not delivered stays to be sent again
 */
function begin(lines, sameCaller) {
  const kept = lines
    .filter((one) => sameCaller || one.delivery)
    .map((one) => {
      const late = one.delivery && !(sameCaller && one.delivery === "waiting");
      // The turns of another conversation are counted from one again.
      return { ...one, turn: null, delivery: late ? /** @type {const} */ ("failed") : one.delivery };
    });
  const waiting = kept.filter((one) => one.delivery === "waiting");
  const past = kept.filter((one) => one.delivery !== "waiting");
  return past.length ? [...past, line(`break-${past.length}`, "break", { settled: true }), ...waiting] : waiting;
}

/**
 * The speech service's session is gone: nothing more comes of what was open there.
 * @param {Lines} lines
 * @returns {Lines}
 */
function abandon(lines) {
  return lines.map((one) => {
    if (one.settled || one.kind === "tool") return one;
    return { ...one, settled: true, heard: one.kind === "answer" ? textOf(one).length : null };
  });
}

/** @type {Record<string, (lines: Lines, event: any, moment: Moment) => Lines>} */
const STEPS = {
  "conversation.begun": (lines, { sameCaller }) => begin(lines, sameCaller),
  "heard.stopped": (lines, { item }, { now }) => place(lines, line(item, "caller", { at: now })),
  "item.placed": (lines, { item, role, after, text }, { now }) => {
    if (role !== "user") return reorder(lines, item, after);
    if (!text) return reorder(place(lines, line(item, "caller", { at: now }), after), item, after);
    if (lines.some((one) => one.id === item)) return update(lines, item, () => ({ delivery: null }));
    return arrive(lines, { id: item }, text);
  },
  "caller.delta": (lines, { item, content, text }, { now }) =>
    update(placeQuestion(lines, item, now), item, ({ parts, settled }) =>
      settled ? {} : { parts: setPart(parts, content, (parts[content] ?? "") + text) },
    ),
  "caller.final": (lines, { item, content, text }, { now }) =>
    update(placeQuestion(lines, item, now), item, ({ parts }) => ({
      parts: setPart(parts, content, text.trim()),
      settled: true,
    })),
  "caller.unheard": (lines, { item }) => update(lines, item, () => ({ settled: true })),
  "response.started": (lines) => arrive(lines),
  "answer.placed": (lines, event, moment) => place(lines, answerOf(event, moment)),
  "answer.delta": (lines, event, moment) =>
    update(place(arrive(lines), answerOf(event, moment)), event.item, ({ parts, settled }) =>
      settled ? {} : { parts: setPart(parts, event.content, (parts[event.content] ?? "") + event.text) },
    ),
  "answer.final": (lines, event, moment) =>
    update(place(lines, answerOf(event, moment)), event.item, ({ parts, settled }) =>
      settled ? {} : { parts: setPart(parts, event.content, event.text) },
    ),
  "answer.cut": (lines, { item, playedMs, receivedMs }) =>
    update(lines, item, (one) => ({
      settled: true,
      heard: heardLength(textOf(one), playedMs, receivedMs, one.whole),
    })),
  "answers.stopped": (lines, { responses }) =>
    lines.map((one) => {
      if (one.settled || one.response === null || !responses.includes(one.response)) return one;
      return { ...one, settled: true, heard: textOf(one).length };
    }),
  "response.ended": (lines, { response, reason }) => settle(lines, response, reason === "turn_detected"),
  "speech.lost": abandon,
  "tool.started": (lines, { id }, { now }) => place(lines, line(id, "tool", { at: now })),
  "tool.completed": (lines, { id }, { now }) =>
    update(place(lines, line(id, "tool", { at: now })), id, () => ({ settled: true })),
  "tool.failed": (lines, { id }, { now }) =>
    update(place(lines, line(id, "tool", { at: now })), id, () => ({ settled: true })),
  typed: (lines, { id, text }, { now }) => [
    ...lines,
    line(id, "caller", { parts: [text], settled: true, delivery: "waiting", at: now }),
  ],
  "typed.sent": (lines, { id }) => update(lines, id, () => ({ delivery: "sending" })),
  "typed.failed": (lines, { id }) => update(lines, id, () => ({ delivery: "failed" })),
  trouble: (lines, { about }) =>
    about ? lines : lines.map((one) => (one.delivery === "sending" ? { ...one, delivery: "unsure" } : one)),
  "typed.withdrawn": (lines, { id }) => lines.filter((one) => one.id !== id),
  rated: (lines, { turn, rating }) => lines.map((one) => (one.turn === turn ? { ...one, rating } : one)),
  "link.lost": freeze,
  "link.ended": freeze,
  "link.failed": freeze,
};

/**
 * @param {{item: string, response: string}} event
 * @param {Moment} moment
 */
const answerOf = ({ item, response }, { turn, now }) => line(item, "answer", { response, turn, at: now });

/**
 * @param {Lines} lines
 * @param {Happening} event
 * @param {Moment} [moment]
 * @returns {Lines}
 */
export function stepLines(lines, event, moment = { turn: null, now: 0 }) {
  return STEPS[event.type]?.(lines, event, moment) ?? lines;
}

/**
 * The lines to show: final ones that keep their place, then those that still change.
 * @param {Lines} lines
 * @returns {{final: Line[], live: Line[]}}
 */
export function split(lines) {
  const shown = lines.filter((one) => one.kind === "tool" || one.kind === "break" || !one.settled || textOf(one));
  const open = firstOpen(shown);
  return { final: shown.slice(0, open), live: shown.slice(open) };
}
