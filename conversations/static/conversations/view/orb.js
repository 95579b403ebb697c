/** The ring around the microphone: a shape for each state, and in it what is heard and said, from the real signal. */

import { SHAPES } from "./shapes.js";

/** @typedef {import("../look.js").Face} Face */

const HISTORY = 36;
const SILENCE_DB = -54;
const STEP_MS = 33;
/** With reduced motion the level changes this seldom, and in this few steps. */
const CALM_MS = 500;
const CALM_STEPS = 4;
/** What the history looks like where it may not move. */
const STILL = Array.from({ length: HISTORY }, (_, i) => 0.62 + 0.38 * Math.cos(i * 1.3) * Math.cos(i * 0.37));

/** @type {Partial<Record<Face, "in" | "out">>} */
const SIDES = { listening: "in", hearing: "in", speaking: "out" };

/**
 * @param {number} level root mean square, 0…1
 * @returns {number} 0…1, even to the ear
 */
export function toSight(level) {
  const decibel = 20 * Math.log10(Math.max(level, 1e-5));
  return Math.max(0, Math.min(1, 1 - decibel / SILENCE_DB));
}

/** Draws while something moves and rests otherwise. */
export class Orb {
  #canvas;
  #calm = matchMedia("(prefers-reduced-motion: reduce)");
  /** @type {Face} */
  #face = "connecting";
  #levels = { in: 0, out: 0 };
  /** @type {number[]} */
  #history = Array(HISTORY).fill(0);
  #frame = 0;
  #stepped = 0;
  #stale = true;
  #again = (/** @type {number} */ now) => this.#tick(now);

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {AbortSignal} signal of the client's end
   */
  constructor(canvas, signal) {
    this.#canvas = canvas;
    const resized = new ResizeObserver(() => this.#wake());
    resized.observe(canvas);
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
      matchMedia(query).addEventListener("change", () => this.#wake(), { signal });
    }
    signal.addEventListener("abort", () => {
      resized.disconnect();
      cancelAnimationFrame(this.#frame);
      this.#frame = -1;
    });
  }

  /** @param {Face} face */
  show(face) {
    if (face === this.#face) return;
    this.#face = face;
    this.#wake();
  }

  /**
   * @param {"in" | "out"} side
   * @param {number} level root mean square, 0…1
   */
  level(side, level) {
    this.#levels[side] = Math.max(toSight(level), this.#levels[side]);
  }

  /** Something is to be seen at once. */
  #wake() {
    this.#stale = true;
    if (!this.#frame) this.#frame = requestAnimationFrame(this.#again);
  }

  /** @param {number} now */
  #tick(now) {
    this.#frame = 0;
    const side = SIDES[this.#face];
    const calm = this.#calm.matches;
    const moves = SHAPES[this.#face].turns && !calm;
    if (this.#stale || now - this.#stepped >= (calm ? CALM_MS : STEP_MS)) {
      this.#stepped = now;
      this.#stale = false;
      this.#step(side ? this.#levels[side] : 0, calm);
      this.#draw(moves ? now : 0);
    }
    if (side || moves || this.#history.some((level) => level > 0.01)) this.#frame = requestAnimationFrame(this.#again);
  }

  /**
   * @param {number} level 0…1
   * @param {boolean} calm
   */
  #step(level, calm) {
    const step = Math.round(level * CALM_STEPS) / CALM_STEPS;
    this.#history = calm ? STILL.map((one) => one * step) : [level, ...this.#history].slice(0, HISTORY);
    const fade = calm ? 0 : 0.7;
    this.#levels.in *= fade;
    this.#levels.out *= fade;
  }

  /** @param {number} now */
  #draw(now) {
    const context = this.#canvas.getContext("2d");
    const side = this.#canvas.clientWidth;
    if (!context || !side) return;
    const pixels = Math.round(side * devicePixelRatio);
    const { width, height } = this.#canvas;
    if (width !== pixels || height !== pixels) this.#canvas.width = this.#canvas.height = pixels;
    const scale = pixels / side;
    context.setTransform(scale, 0, 0, scale, pixels / 2, pixels / 2);
    context.clearRect(-side, -side, 2 * side, 2 * side);
    context.globalAlpha = 1;
    context.strokeStyle = context.fillStyle = getComputedStyle(this.#canvas).color;
    context.lineCap = "round";
    SHAPES[this.#face].draw({ context, inner: side * 0.36, outer: side * 0.5, now, levels: this.#history });
  }
}
