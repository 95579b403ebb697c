/** One tool on the screen. */

import { toneOf } from "../chips.js";
import { toolText } from "../problems.js";
import { duration, number, say, translated } from "../text.js";
import { icon, make } from "./dom.js";

/** @typedef {(text: string) => void} Copy */

/** @typedef {import("../types.js").Chip} Chip */

const ICONS = { running: "working", completed: "done", calm: "calm", failed: "failed" };

/**
 * @param {Chip} chip
 * @param {number} now ms of the page's clock
 * @returns {string}
 */
function timeOf(chip, now) {
  if (chip.durationMs !== null) return say("time.seconds", { n: number(Math.max(0.1, chip.durationMs / 1000), 1) });
  if (chip.status !== "running" || chip.startedAt === null) return "";
  return duration(Math.floor((now - chip.startedAt) / 1000) * 1000);
}

/**
 * @param {Chip} chip
 * @returns {string} what went wrong, in a sentence
 */
function reason(chip) {
  if (chip.message) return translated(chip.message);
  const key = chip.status === "failed" ? toolText(chip.code) : null;
  return key ? say(key) : "";
}

/**
 * @param {Chip} chip
 * @param {string} words what went wrong
 * @param {Copy} copy
 * @returns {HTMLElement} what an operator finds it by, to read out or to send
 */
function reference(chip, words, copy) {
  const ref = say("ref", { ref: chip.ref });
  const button = make("button", "quiet", say("copy"));
  button.type = "button";
  button.addEventListener("click", () => copy([chip.label, words, ref].filter(Boolean).join(" · ")));
  return make("p", "ref", ref, " ", button);
}

/**
 * @param {Chip} chip
 * @param {Copy} copy
 * @returns {Node[]}
 */
function details(chip, copy) {
  const nodes = [];
  const words = reason(chip);
  if (chip.progress !== null && chip.status === "running") {
    const bar = make("progress", "chip-progress");
    bar.value = chip.progress;
    bar.setAttribute("aria-label", translated(chip.label));
    nodes.push(bar);
  }
  if (words) nodes.push(make("p", "chip-words", words));
  if (chip.ref) nodes.push(reference(chip, words, copy));
  return nodes;
}

/**
 * @param {Chip} chip
 * @param {number} now ms of the page's clock
 * @param {Copy} copy
 * @returns {HTMLElement}
 */
export function drawChip(chip, now, copy) {
  const tone = toneOf(chip);
  const passed = timeOf(chip, now);
  const time = make("span", "chip-time", passed && ` · ${passed}`);
  time.setAttribute("aria-hidden", "true");
  const head = make(
    "p",
    "chip-head",
    icon(ICONS[tone]),
    make(
      "span",
      "",
      make("span", "chip-label", translated(chip.label) || say("chip.unknown")),
      " ",
      make("span", "chip-outcome", say(`chip.${tone}`), time),
    ),
  );
  const node = make("div", "chip", head, ...details(chip, copy));
  node.dataset.tone = tone;
  return node;
}
