/** The conversation as plain text, for the caller to keep: as it was heard, with the tools and how they ended. Pure. */

import { toneOf } from "./chips.js";
import { say } from "./text.js";
import { textOf } from "./transcript.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./types.js").Line} Line
 * @typedef {import("./types.js").Chip} Chip
 */

/** @param {number} value */
const two = (value) => String(value).padStart(2, "0");

/** @param {Date} at */
const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

/** @param {Date} at */
const clock = (at) => `${two(at.getHours())}:${two(at.getMinutes())}`;

/**
 * @param {Chip} chip
 * @returns {string}
 */
function toolWords(chip) {
  const outcome = say(`chip.${toneOf(chip)}`);
  const ref = chip.ref ? [say("ref", { ref: chip.ref })] : [];
  return `(${[`${chip.label || say("chip.unknown")}: ${outcome}`, ...ref].join(", ")})`;
}

/**
 * @param {Line} line
 * @param {Chip | undefined} chip
 * @returns {string} empty for a line that says nothing
 */
function lineWords(line, chip) {
  if (line.kind === "break") return `— ${say("line.break")} —`;
  if (line.kind === "tool") return chip ? toolWords(chip) : "";
  const text = textOf(line);
  if (!text) return "";
  const heard = line.heard === null ? text : `${text.slice(0, line.heard)} [${say("line.cut")}]`.trim();
  const undelivered = line.delivery ? ` [${say(`delivery.${line.delivery}`)}]` : "";
  return `${say(`line.${line.kind}`)}: ${heard}${undelivered}`;
}

/**
 * @param {Model} model
 * @param {Date} now
 * @returns {string}
 */
export function transcriptText(model, now) {
  const head = [say("line.answer"), model.caller, `${day(now)} ${clock(now)}`].filter(Boolean).join(" · ");
  const lines = model.lines.flatMap((line) => {
    const words = lineWords(line, model.chips[line.id]);
    const time = line.at ? `[${clock(new Date(line.at))}:${two(new Date(line.at).getSeconds())}] ` : "";
    return words ? [`${time}${words}`] : [];
  });
  return `${[head, "", ...lines].join("\n")}\n`;
}

/**
 * @param {Date} now
 * @returns {string} a name that sorts by time
 */
export const fileName = (now) => `vocero-${day(now)}-${clock(now).replace(":", "")}.txt`;
