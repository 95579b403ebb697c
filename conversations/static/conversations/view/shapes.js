/** The shapes of the ring. Each state has its own, so that nobody needs to tell colours apart. */

/**
 * @typedef {import("../look.js").Face} Face
 * @typedef {object} Room
 * @property {CanvasRenderingContext2D} context whose middle is the ring's
 * @property {number} inner radius
 * @property {number} outer radius
 * @property {number} now ms, 0 where nothing may move
 * @property {number[]} levels the newest first, 0…1
 * @typedef {{turns: boolean, draw: (room: Room) => void}} Shape
 */

const ROUND = 2 * Math.PI;
const BARS = 72;
const DOTS = 24;
const TURN_MS = 1800;

/**
 * @param {Room} room
 * @param {number} from radius
 * @param {number} to radius
 * @param {number} angle
 */
function spoke({ context }, from, to, angle) {
  const [x, y] = [Math.cos(angle), Math.sin(angle)];
  context.beginPath();
  context.moveTo(x * from, y * from);
  context.lineTo(x * to, y * to);
  context.stroke();
}

/**
 * A part of the ring's middle line.
 * @param {Room} room
 * @param {number} width of the line as a part of the ring's
 * @param {number} from angle
 * @param {number} to angle
 */
function arc({ context, inner, outer }, width, from, to) {
  context.lineWidth = (outer - inner) * width;
  context.beginPath();
  context.arc(0, 0, inner + (outer - inner) * 0.5, from, to);
  context.stroke();
}

/**
 * The same arc several times around.
 * @param {number} count
 * @param {number} part of the way that is drawn, 0…1
 * @param {number} width
 * @param {number} [start] in turns
 * @returns {(room: Room) => void}
 */
function arcs(count, part, width, start = 0) {
  return (room) => {
    const turned = start + room.now / TURN_MS / 2 - part / count / 2;
    for (let i = 0; i < count; i += 1) {
      const from = (turned + i / count) * ROUND;
      arc(room, width, from, from + (part / count) * ROUND);
    }
  };
}

/**
 * @param {boolean} tail whether one follows the other around, or all are the same
 * @returns {(room: Room) => void}
 */
function dots(tail) {
  return (room) => {
    const { context, inner, outer, now } = room;
    const middle = inner + (outer - inner) * 0.5;
    for (let i = 0; i < DOTS; i += 1) {
      const behind = (((now / TURN_MS - i / DOTS) % 1) + 1) % 1;
      const size = tail ? 0.06 + 0.16 * (1 - behind) ** 2 : 0.11;
      const angle = (i / DOTS - 0.25) * ROUND;
      context.beginPath();
      context.arc(Math.cos(angle) * middle, Math.sin(angle) * middle, (outer - inner) * size, 0, ROUND);
      context.fill();
    }
  };
}

/** @param {Room} room */
function comet(room) {
  const { context, inner, outer, now } = room;
  context.lineWidth = outer / 30;
  for (let i = 0; i < BARS; i += 1) {
    const behind = (((now / TURN_MS - i / BARS) % 1) + 1) % 1;
    const strength = (1 - behind) ** 2;
    context.globalAlpha = 0.25 + 0.75 * strength;
    const from = inner + (outer - inner) * 0.3;
    spoke(room, from, from + (outer - inner) * (0.05 + 0.5 * strength), (i / BARS - 0.25) * ROUND);
  }
}

/**
 * What the caller says: rays, the newest at the top, running down both sides.
 * @param {number} least length, 0…1
 * @returns {(room: Room) => void}
 */
function rays(least) {
  return (room) => {
    const { context, inner, outer, levels } = room;
    context.lineWidth = outer / 32;
    const from = inner + (outer - inner) * 0.12;
    const longest = outer - context.lineWidth / 2 - from;
    for (let i = 0; i < BARS; i += 1) {
      const age = Math.min(levels.length - 1, Math.abs(i - BARS / 2));
      const reach = Math.max(least, levels[age] * (1 - 0.5 * (age / levels.length)));
      spoke(room, from, from + reach * longest, (i / BARS + 0.25) * ROUND);
    }
  };
}

/**
 * What the assistant says: one smooth line, filled.
 * @param {Room} room
 */
function wave({ context, inner, outer, levels }) {
  const points = levels.map((level, age) => {
    const radius = inner + (outer - inner) * (0.22 + 0.7 * level * (1 - 0.35 * (age / levels.length)));
    return { radius, away: ((age + 0.5) / levels.length) * Math.PI };
  });
  /** @param {{radius: number, away: number}} point @param {1 | -1} hand */
  const place = ({ radius, away }, hand) => [hand * Math.sin(away) * radius, -Math.cos(away) * radius];
  const around = [...points.map((point) => place(point, 1)), ...points.map((point) => place(point, -1)).reverse()];
  const middle = (/** @type {number} */ i) => {
    const [here, next] = [around[i % around.length], around[(i + 1) % around.length]];
    return /** @type {const} */ ([(here[0] + next[0]) / 2, (here[1] + next[1]) / 2]);
  };
  context.beginPath();
  context.moveTo(...middle(0));
  for (let i = 1; i <= around.length; i += 1) {
    const [x, y] = around[i % around.length];
    context.quadraticCurveTo(x, y, ...middle(i));
  }
  context.lineWidth = outer / 40;
  context.stroke();
  context.globalAlpha = 0.28;
  context.fill();
}

/** @type {Record<Face, Shape>} */
export const SHAPES = {
  connecting: { turns: true, draw: dots(true) },
  ready: { turns: false, draw: dots(false) },
  awaiting_microphone: { turns: true, draw: arcs(12, 0.5, 0.3) },
  listening: { turns: false, draw: rays(0.06) },
  hearing: { turns: false, draw: rays(0.3) },
  thinking: { turns: true, draw: comet },
  looking: { turns: true, draw: arcs(3, 0.62, 0.3) },
  asking: { turns: false, draw: arcs(1, 1, 0.42) },
  speaking: { turns: false, draw: wave },
  muted: { turns: false, draw: arcs(2, 0.18, 0.2) },
  written: { turns: false, draw: dots(false) },
  reconnecting: { turns: true, draw: arcs(2, 0.7, 0.26, 0.25) },
  ended: { turns: false, draw: arcs(1, 1, 0.08) },
  error: { turns: false, draw: arcs(4, 0.34, 0.42, 0.125) },
};
