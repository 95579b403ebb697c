/** All that the screen shows, as one value, and how each happening changes it. Pure. */

import { stepChips } from "./chips.js";
import { catchUp, countCallers } from "./history.js";
import { stepSheets } from "./sheets.js";
import { FIRST_CALL, step } from "./state.js";
import { stepLines } from "./transcript.js";

/**
 * @typedef {import("./types.js").Happening} Happening
 * @typedef {object} Model
 * @property {import("./state.js").Call} call
 * @property {import("./transcript.js").Lines} lines
 * @property {import("./chips.js").Chips} chips
 * @property {import("./sheets.js").Sheets} sheets
 * @property {import("./history.js").Known} known
 * @property {string} caller name, empty while unknown
 * @property {import("./types.js").Problem | null} problem the server cannot be talked to
 * @property {import("./types.js").MicrophoneProblem | null} microphoneProblem
 * @property {number | null} speechRetryAt the speech service is lost, until then at least
 * @property {boolean} soundBlocked
 * @property {import("./preferences.js").Way} way of talking
 * @property {{input: string, output: string}} chosen devices by their id, empty for the default ones
 * @property {{inputs: import("./types.js").Device[], outputs: import("./types.js").Device[]}} devices
 * @property {{text: import("./text.js").TextKey, detail: string, deed: import("./types.js").Deed} | null} remark
 * @property {{code: string, message: string, ref: string} | null} trouble
 * @property {number | null} endsAt ms of the page's clock
 * @property {number | null} turn that is answered, where the server says so
 * @property {Readonly<Record<string, number>>} received ms of sound by item
 * @property {{item: string, playedMs: number} | null} spoken what the loudspeaker says, or said last
 * @property {boolean} captions whether what is said is shown large
 * @property {readonly string[]} questions to begin with
 * @property {Readonly<Record<string, string>>} labels of the caller's tools by name
 */

/** @type {Model} */
export const FIRST = {
  call: FIRST_CALL,
  lines: [],
  chips: {},
  sheets: [],
  known: { turns: 0, callers: 0 },
  caller: "",
  problem: null,
  microphoneProblem: null,
  speechRetryAt: null,
  soundBlocked: false,
  way: "hands_free",
  chosen: { input: "", output: "" },
  devices: { inputs: [], outputs: [] },
  remark: null,
  trouble: null,
  endsAt: null,
  turn: null,
  received: {},
  spoken: null,
  captions: false,
  questions: [],
  labels: {},
};

/**
 * @param {Model} model
 * @param {import("./types.js").PastTurn[]} turns
 * @returns {Partial<Model>}
 */
function restore(model, turns) {
  const { lines, chips, known } = catchUp(model.lines, turns, model.known);
  return { lines, known, chips: { ...model.chips, ...Object.fromEntries(chips.map((chip) => [chip.id, chip])) } };
}

/**
 * @param {string} audio base64 of 16-bit samples at 24 kHz
 * @returns {number} its length in ms
 */
const soundMs = (audio) => (audio.length * 3) / 4 / 48;

/**
 * The service cut an answer that this page did not cut itself.
 * @param {Model} model
 * @param {{item: string, playedMs: number}} event
 * @returns {Partial<Model>}
 */
function truncate({ lines, received }, { item, playedMs }) {
  const line = lines.find((one) => one.id === item);
  const receivedMs = received[item] ?? 0;
  if (!line || line.heard !== null || playedMs >= Math.floor(receivedMs)) return {};
  return { lines: stepLines(lines, { type: "answer.cut", item, playedMs, receivedMs }) };
}

/** @type {Partial<Model>} */
const RECOVERED = { problem: null, trouble: null };

/** @type {Record<string, (model: Model, event: any) => Partial<Model>>} */
const CHANGES = {
  "link.starting": (model, { newCaller }) => ({ ...RECOVERED, caller: newCaller ? "" : model.caller }),
  "link.ready": () => ({ ...RECOVERED, speechRetryAt: null }),
  "link.lost": (_model, { code, retryAt }) => ({ problem: { code, ref: "", retryAt }, speechRetryAt: null }),
  "link.written": () => ({ problem: null, speechRetryAt: null, endsAt: null, trouble: null }),
  "link.failed": (_model, { problem }) => ({ problem, speechRetryAt: null, endsAt: null }),
  "link.ended": (_model, { problem }) => ({ problem, speechRetryAt: null, endsAt: null }),
  "conversation.begun": (model, { conversation, sameCaller }) => ({
    turn: null,
    received: {},
    spoken: null,
    ...(sameCaller ? {} : { questions: [], labels: {} }),
    known: { turns: 0, callers: countCallers(model.lines) },
    chips: sameCaller ? model.chips : {},
    caller: conversation.caller?.name ?? "",
    endsAt: null,
  }),
  "conversation.restored": (model, { turns }) => restore(model, turns),
  ready: (_model, { caller, toolsError }) => ({
    ...(caller ? { caller: caller.name } : {}),
    ...(toolsError ? { trouble: { code: "tools", message: "", ref: "" } } : {}),
  }),
  "microphone.asked": () => ({ microphoneProblem: null, trouble: null, remark: null }),
  "microphone.failed": (_model, { problem }) => ({ microphoneProblem: problem, remark: null }),
  "talk.begun": () => ({ trouble: null, remark: null }),
  "preferences.recalled": (_model, { way, input, output }) => ({ way, chosen: { input, output } }),
  "way.chosen": (_model, { way }) => ({ way, remark: null }),
  "input.chosen": (model, { id }) => ({ chosen: { ...model.chosen, input: id }, remark: null }),
  "output.chosen": (model, { id }) => ({ chosen: { ...model.chosen, output: id }, remark: null }),
  "devices.listed": (_model, { inputs, outputs }) => ({ devices: { inputs, outputs } }),
  remarked: (_model, { text, detail, deed }) => ({ remark: { text, detail, deed } }),
  "sound.blocked": (_model, { blocked }) => ({ soundBlocked: blocked }),
  "speech.lost": (_model, { retryAt }) => ({ speechRetryAt: retryAt }),
  "speech.restored": () => ({ speechRetryAt: null }),
  expiring: (_model, { at }) => ({ endsAt: at }),
  trouble: (_model, { code, message, ref }) => ({ trouble: { code, message, ref } }),
  "caller.unheard": (model, { code }) => ({ trouble: code ? { code, message: "", ref: "" } : model.trouble }),
  "caller.final": () => ({ trouble: null }),
  typed: () => ({ trouble: null, microphoneProblem: null, remark: null, spoken: null }),
  "trouble.dismissed": () => ({ trouble: null, microphoneProblem: null, remark: null }),
  "turn.begun": (_model, { turn }) => ({ turn: turn || null }),
  "answer.sound": ({ received }, { item, audio }) => ({
    received: { ...received, [item]: (received[item] ?? 0) + soundMs(audio) },
  }),
  "answer.truncated": truncate,
  "sound.heard": (_model, { item, playedMs }) => ({ spoken: { item, playedMs } }),
  "heard.started": () => ({ spoken: null }),
  suggested: (_model, { questions, labels }) => ({ questions, labels }),
  "captions.switched": (_model, { on }) => ({ captions: on }),
};

/**
 * @param {Model} model
 * @param {Happening} event
 * @param {number} [now] ms of the page's clock
 * @returns {Model}
 */
export function stepModel(model, event, now = 0) {
  const moved = {
    ...model,
    call: step(model.call, event),
    lines: stepLines(model.lines, event, { turn: model.turn, now }),
    chips: stepChips(model.chips, event),
    sheets: stepSheets(model.sheets, event),
  };
  return { ...moved, ...CHANGES[event.type]?.(moved, event) };
}

/** Holds the one value and tells who wants to know. */
export class Store {
  model = FIRST;
  /** @type {((event: Happening) => void)[]} */
  #watchers = [];
  #closed = false;

  /** @param {(event: Happening) => void} watcher called after each happening */
  watch(watcher) {
    this.#watchers.push(watcher);
  }

  /** Nothing changes any more, whatever is still on its way. */
  close() {
    this.#closed = true;
    this.#watchers = [];
  }

  /** @param {Happening} event */
  dispatch(event) {
    if (this.#closed) return;
    this.model = stepModel(this.model, event, Date.now());
    for (const watcher of this.#watchers) watcher(event);
  }
}
