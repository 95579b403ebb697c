/** The ring around the microphone: what is heard and what is said, drawn from the real signal. */

/** @typedef {import("../state.js").Phase} Phase */

const BARS = 72;
const HISTORY = BARS / 2;
const SILENCE_DB = -54;
const TURN_MS = 1600;
const STEP_MS = 33;

/** @type {Partial<Record<Phase, "in" | "out" | "turn">>} */
const MOVES = {
  listening: "in",
  hearing: "in",
  speaking: "out",
  thinking: "turn",
  connecting: "turn",
  reconnecting: "turn",
  awaiting_microphone: "turn",
};

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
  /** @type {Phase} */
  #phase = "connecting";
  #levels = { in: 0, out: 0 };
  /** @type {number[]} */
  #history = Array(HISTORY).fill(0);
  #frame = 0;
  #stepped = 0;

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {AbortSignal} signal of the client's end
   */
  constructor(canvas, signal) {
    this.#canvas = canvas;
    const resized = new ResizeObserver(() => this.#wake());
    resized.observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#wake(), { signal });
    signal.addEventListener("abort", () => {
      resized.disconnect();
      cancelAnimationFrame(this.#frame);
      this.#frame = -1;
    });
  }

  /** @param {Phase} phase */
  show(phase) {
    if (phase === this.#phase) return;
    this.#phase = phase;
    this.#wake();
  }

  /**
   * @param {"in" | "out"} side
   * @param {number} level root mean square, 0…1
   */
  level(side, level) {
    this.#levels[side] = Math.max(toSight(level), this.#levels[side]);
  }

  #wake() {
    if (!this.#frame) this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  /** @param {number} now */
  #tick(now) {
    this.#frame = 0;
    const move = MOVES[this.#phase];
    if (now - this.#stepped >= STEP_MS) {
      this.#stepped = now;
      const level = move === "in" || move === "out" ? this.#levels[move] : 0;
      this.#history = [level, ...this.#history].slice(0, HISTORY);
      this.#levels.in *= 0.7;
      this.#levels.out *= 0.7;
    }
    this.#draw(now, move);
    const fading = this.#history.some((level) => level > 0.01);
    if (fading || (move && !(move === "turn" && this.#calm.matches))) this.#wake();
  }

  /**
   * How far a bar reaches and how strong it is, both 0…1.
   * @param {number} i
   * @param {number} now
   * @param {"in" | "out" | "turn" | undefined} move
   */
  #bar(i, now, move) {
    if (move === "turn") {
      const turned = this.#calm.matches ? 0 : now / TURN_MS;
      const behind = (((turned - i / BARS) % 1) + 1) % 1;
      return { reach: 0.12 * (1 - behind), strength: 0.2 + 0.8 * (1 - behind) ** 2 };
    }
    // Both halves mirror each other; with reduced motion the whole ring moves as one.
    const age = this.#calm.matches ? 0 : Math.abs(i - HISTORY);
    const reach = this.#history[Math.min(HISTORY - 1, age)] * (1 - 0.5 * (age / HISTORY));
    return { reach, strength: move ? 0.55 + 0.45 * reach : 0.35 };
  }

  /**
   * @param {number} now
   * @param {"in" | "out" | "turn" | undefined} move
   */
  #draw(now, move) {
    const context = this.#canvas.getContext("2d");
    const side = this.#canvas.clientWidth;
    if (!context || !side) return;
    const scale = devicePixelRatio;
    this.#canvas.width = this.#canvas.height = Math.round(side * scale);
    context.scale(scale, scale);
    context.translate(side / 2, side / 2);
    context.strokeStyle = getComputedStyle(this.#canvas).color;
    context.lineCap = "round";
    context.lineWidth = Math.max(2, side / 75);
    const inner = side * 0.37;
    const room = side * 0.5 - context.lineWidth / 2 - inner;
    for (let i = 0; i < BARS; i += 1) {
      const { reach, strength } = this.#bar(i, now, move);
      const angle = (i / BARS) * 2 * Math.PI + Math.PI / 2;
      const [x, y] = [Math.cos(angle), Math.sin(angle)];
      const outer = inner + Math.max(0.01, reach) * room;
      context.globalAlpha = strength;
      context.beginPath();
      context.moveTo(x * inner, y * inner);
      context.lineTo(x * outer, y * outer);
      context.stroke();
    }
  }
}
