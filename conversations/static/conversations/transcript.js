/** What both sides said, in order, keyed by item. Pure. */

/**
 * @typedef {import("./types.js").Line} Line
 * @typedef {import("./types.js").Happening} Happening
 * @typedef {readonly Line[]} Lines
 */

/**
 * @param {string} id
 * @param {Line["kind"]} kind
 * @param {Partial<Line>} [more]
 * @returns {Line}
 */
export function line(id, kind, more) {
  return { id, kind, parts: [], settled: false, heard: null, delivery: null, response: null, ...more };
}

/** @param {Line} line */
export const textOf = (line) => line.parts.filter(Boolean).join(" ");

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
 * Behind the item named, and behind the tools that it started; else at the end.
 * @param {Lines} lines
 * @param {Line} added
 * @param {string | null} [after]
 * @returns {Lines}
 */
function place(lines, added, after) {
  if (lines.some((one) => one.id === added.id)) return lines;
  const known = after ? lines.findIndex((one) => one.id === after) : -1;
  if (known < 0) return [...lines, added];
  let at = known + 1;
  while (lines[at]?.kind === "tool") at += 1;
  return [...lines.slice(0, at), added, ...lines.slice(at)];
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
 * How much of a text was heard, to the end of a word.
 * @param {string} text
 * @param {number} playedMs
 * @param {number} receivedMs
 */
export function heardLength(text, playedMs, receivedMs) {
  if (playedMs <= 0) return 0;
  if (playedMs >= receivedMs) return text.length;
  const near = Math.round((text.length * playedMs) / receivedMs);
  const end = text.indexOf(" ", near);
  return end < 0 ? text.length : end;
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
    if (one.settled || one.kind === "tool") return one;
    if (one.response === response) return { ...one, settled: true, heard: cut ? textOf(one).length : one.heard };
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
      return late ? { ...one, delivery: /** @type {const} */ ("failed") } : one;
    });
  const waiting = kept.filter((one) => one.delivery === "waiting");
  const past = kept.filter((one) => one.delivery !== "waiting");
  return past.length ? [...past, line(`break-${past.length}`, "break", { settled: true }), ...waiting] : waiting;
}

/** @type {Record<string, (lines: Lines, event: any) => Lines>} */
const STEPS = {
  "conversation.begun": (lines, { sameCaller }) => begin(lines, sameCaller),
  "heard.stopped": (lines, { item }) => place(lines, line(item, "caller")),
  "item.placed": (lines, { item, role, after, text }) => {
    if (role !== "user") return lines;
    if (!text) return place(lines, line(item, "caller"), after);
    if (lines.some((one) => one.id === item)) return update(lines, item, () => ({ delivery: null }));
    return arrive(lines, { id: item }, text);
  },
  "caller.delta": (lines, { item, content, text }) =>
    update(place(lines, line(item, "caller")), item, ({ parts, settled }) =>
      settled ? {} : { parts: setPart(parts, content, (parts[content] ?? "") + text) },
    ),
  "caller.final": (lines, { item, content, text }) =>
    update(place(lines, line(item, "caller")), item, ({ parts }) => ({
      parts: setPart(parts, content, text.trim()),
      settled: true,
    })),
  "caller.unheard": (lines, { item }) => update(lines, item, () => ({ settled: true })),
  "response.started": (lines) => arrive(lines),
  "answer.placed": (lines, { item, response }) => place(lines, line(item, "answer", { response })),
  "answer.delta": (lines, { item, response, content, text }) =>
    update(place(arrive(lines), line(item, "answer", { response })), item, ({ parts, settled }) =>
      settled ? {} : { parts: setPart(parts, content, (parts[content] ?? "") + text) },
    ),
  "answer.final": (lines, { item, response, content, text }) =>
    update(place(lines, line(item, "answer", { response })), item, ({ parts, settled }) =>
      settled ? {} : { parts: setPart(parts, content, text) },
    ),
  "answer.cut": (lines, { item, playedMs, receivedMs }) =>
    update(lines, item, (one) => ({
      settled: true,
      heard: heardLength(textOf(one), playedMs, receivedMs),
    })),
  "answers.stopped": (lines, { responses }) =>
    lines.map((one) => {
      if (one.settled || one.response === null || !responses.includes(one.response)) return one;
      return { ...one, settled: true, heard: textOf(one).length };
    }),
  "response.ended": (lines, { response, reason }) => settle(lines, response, reason === "turn_detected"),
  "tool.started": (lines, { id }) => place(lines, line(id, "tool")),
  "tool.completed": (lines, { id }) => update(place(lines, line(id, "tool")), id, () => ({ settled: true })),
  "tool.failed": (lines, { id }) => update(place(lines, line(id, "tool")), id, () => ({ settled: true })),
  typed: (lines, { id, text }) => [...lines, line(id, "caller", { parts: [text], settled: true, delivery: "waiting" })],
  "typed.sent": (lines, { id }) => update(lines, id, () => ({ delivery: "sending" })),
  "typed.failed": (lines, { id }) => update(lines, id, () => ({ delivery: "failed" })),
  trouble: (lines, { about }) =>
    about ? lines : lines.map((one) => (one.delivery === "sending" ? { ...one, delivery: "unsure" } : one)),
  "typed.withdrawn": (lines, { id }) => lines.filter((one) => one.id !== id),
  "link.lost": freeze,
  "link.ended": freeze,
  "link.failed": freeze,
};

/**
 * @param {Lines} lines
 * @param {Happening} event
 * @returns {Lines}
 */
export function stepLines(lines, event) {
  return STEPS[event.type]?.(lines, event) ?? lines;
}

/**
 * The lines to show: final ones that keep their place, then those that still change.
 * @param {Lines} lines
 * @returns {{final: Line[], live: Line[]}}
 */
export function split(lines) {
  const shown = lines.filter((one) => one.kind === "tool" || one.kind === "break" || !one.settled || textOf(one));
  const open = shown.findIndex((one) => !one.settled && one.kind !== "tool");
  return open < 0 ? { final: shown, live: [] } : { final: shown.slice(0, open), live: shown.slice(open) };
}
