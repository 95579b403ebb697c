/** What the call is doing: three small tables and the one phase that the screen shows. Pure. */

/**
 * @typedef {import("./types.js").Happening} Happening
 * @typedef {"starting" | "connecting" | "open" | "written" | "reconnecting" | "ended" | "failed"} Link
 * @typedef {"off" | "asking" | "on" | "muted" | "resting"} MicrophoneState resting: open, and nothing of it is sent
 * @typedef {"connecting" | "ready" | "awaiting_microphone" | "listening" | "hearing" | "thinking" | "speaking"
 *   | "muted" | "reconnecting" | "ended" | "error"} Phase
 * @typedef {object} Turn
 * @property {boolean} hearing the caller is speaking
 * @property {boolean} awaiting something was asked and no answer has begun
 * @property {string[]} responses those under way
 * @property {string[]} tools those that run
 * @property {boolean} playing sound leaves the loudspeaker
 * @typedef {{link: Link, microphone: MicrophoneState, turn: Turn}} Call
 */

/** @type {Turn} */
const SILENT = { hearing: false, awaiting: false, responses: [], tools: [], playing: false };

/** @type {Call} */
export const FIRST_CALL = { link: "starting", microphone: "off", turn: SILENT };

/** From where, on what, to where; what is not listed changes nothing, since late events are normal. */
const LINK = /** @type {Record<Link, Record<string, Link>>} */ ({
  starting: { "link.connecting": "connecting", "link.lost": "reconnecting", "link.failed": "failed" },
  connecting: {
    "link.starting": "starting",
    "link.written": "written",
    "link.ready": "open",
    "link.lost": "reconnecting",
    "link.failed": "failed",
    "link.ended": "ended",
  },
  open: {
    "link.starting": "starting",
    "link.written": "written",
    "link.lost": "reconnecting",
    "link.failed": "failed",
    "link.ended": "ended",
  },
  reconnecting: {
    "link.starting": "starting",
    "link.connecting": "connecting",
    "link.written": "written",
    "link.ready": "open",
    "link.failed": "failed",
    "link.ended": "ended",
  },
  // Without a speech service: what is typed is asked and answered over HTTP.
  written: { "link.starting": "starting", "link.connecting": "connecting", "link.failed": "failed" },
  ended: { "link.starting": "starting", "link.connecting": "connecting" },
  failed: { "link.starting": "starting", "link.connecting": "connecting" },
});

const MICROPHONE = /** @type {Record<MicrophoneState, Record<string, MicrophoneState>>} */ ({
  off: { "microphone.asked": "asking" },
  asking: {
    "microphone.opened": "on",
    "microphone.rested": "resting",
    "microphone.stopped": "off",
    "microphone.failed": "off",
  },
  on: {
    "microphone.muted": "muted",
    "talk.ended": "resting",
    "microphone.stopped": "off",
    "microphone.failed": "off",
  },
  muted: { "microphone.unmuted": "on", "microphone.stopped": "off", "microphone.failed": "off" },
  resting: { "talk.begun": "on", "microphone.stopped": "off", "microphone.failed": "off" },
});

/**
 * @param {string[]} list
 * @param {string} one
 */
const without = (list, one) => list.filter((other) => other !== one);

/**
 * @param {string[]} list
 * @param {string} one
 */
const withOne = (list, one) => [...without(list, one), one];

/**
 * What was under way is not known any more; sound that has arrived plays on.
 * @param {Turn} turn
 */
function forget({ playing }) {
  return { ...SILENT, playing };
}

/** @type {Record<string, (turn: Turn, event: any) => Partial<Turn>>} */
const TURN = {
  "heard.started": () => ({ hearing: true, awaiting: false }),
  "heard.stopped": () => ({ hearing: false, awaiting: true }),
  "talk.begun": () => ({ hearing: true, awaiting: false }),
  "talk.ended": (_turn, { asked }) => ({ hearing: false, awaiting: asked }),
  "caller.unheard": () => ({ awaiting: false }),
  "microphone.stopped": () => ({ hearing: false }),
  "microphone.failed": () => ({ hearing: false }),
  typed: () => ({ awaiting: true }),
  "typed.sent": () => ({ awaiting: true }),
  "response.started": (turn, { response }) => ({ responses: withOne(turn.responses, response) }),
  "answer.delta": () => ({ awaiting: false }),
  "answer.sound": () => ({ awaiting: false }),
  "response.ended": (turn, { response, status }) => ({
    responses: without(turn.responses, response),
    // An answer that only picked a tool ends without a word, or is cut short; the next one is on its way.
    awaiting: turn.awaiting && status !== "failed" && status !== "incomplete",
  }),
  "tool.started": (turn, { id }) => ({ tools: withOne(turn.tools, id), awaiting: true }),
  "tool.completed": (turn, { id }) => ({ tools: without(turn.tools, id), awaiting: true }),
  "tool.failed": (turn, { id, code }) => ({
    tools: without(turn.tools, id),
    awaiting: turn.awaiting && code !== "cancelled" && code !== "stale",
  }),
  "sheet.opened": () => ({ awaiting: true }),
  "sound.playing": (_turn, { playing }) => ({ playing }),
  trouble: () => ({ awaiting: false }),
  stopped: () => ({ awaiting: false, responses: [], tools: [] }),
  "link.quiet": () => ({ awaiting: false }),
  "link.lost": forget,
  "link.written": forget,
  "link.ended": forget,
  "link.failed": forget,
  "link.starting": forget,
};

/**
 * @param {Call} call
 * @param {Happening} event
 * @returns {Call} the same object when nothing changed
 */
export function step(call, event) {
  const link = LINK[call.link][event.type] ?? call.link;
  const microphone = MICROPHONE[call.microphone][event.type] ?? call.microphone;
  const patch = TURN[event.type]?.(call.turn, event);
  if (link === call.link && microphone === call.microphone && !patch) return call;
  return { link, microphone, turn: patch ? { ...call.turn, ...patch } : call.turn };
}

/** @type {Partial<Record<Link, Phase>>} */
const BY_LINK = {
  starting: "connecting",
  connecting: "connecting",
  reconnecting: "reconnecting",
  ended: "ended",
  failed: "error",
};

/** @param {Turn} turn */
export const isBusy = (turn) => turn.awaiting || turn.responses.length > 0 || turn.tools.length > 0;

/**
 * @param {Call} call
 * @returns {Phase}
 */
export function phaseOf({ link, microphone, turn }) {
  const down = BY_LINK[link];
  if (down) return down;
  if (microphone === "asking") return "awaiting_microphone";
  if (turn.hearing) return "hearing";
  if (turn.playing) return "speaking";
  if (isBusy(turn)) return "thinking";
  if (microphone === "off" || microphone === "resting") return "ready";
  return microphone === "muted" ? "muted" : "listening";
}
