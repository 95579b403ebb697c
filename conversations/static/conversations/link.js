/** The line to the server: who is calling, which conversation, and how to get it back. */

import { ApiError } from "./api.js";
import { backOff, planFor } from "./closing.js";
import { readFrame } from "./events.js";
import { Realtime } from "./realtime.js";

/**
 * @typedef {import("./types.js").Happening} Happening
 * @typedef {import("./api.js").Identity} Identity
 * @typedef {{code: string, ref: string, retryMs: number | null}} Told
 */

/** So often in a row is a conversation opened anew without ever becoming ready. */
const BOOTSTRAPS = 2;

/** @type {Told} */
const NOTHING_TOLD = { code: "", ref: "", retryMs: null };

/** So long the call waits for the turns that another window had; after that it begins without them. */
const LOOK_MS = 1500;

/**
 * @param {number} ms
 * @returns {Promise<null>}
 */
const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms, null));

/** @returns {"offline" | "lost"} as far as the browser knows */
const whyLost = () => (navigator.onLine ? "lost" : "offline");

/** One conversation and one socket at a time; whatever an earlier attempt still brings is dropped. */
export class Link {
  #api;
  #address;
  #emit;
  #writes;
  #written = false;
  #attempt = 0;
  #bootstraps = 0;
  #lost = 0;
  #told = NOTHING_TOLD;
  #newCaller = false;
  /** @type {Identity} */
  #identity = {};
  /** @type {string | null} */
  #conversation = null;
  /** @type {Realtime | null} */
  #socket = null;
  /** @type {Happening[] | null} */
  #held = null;
  /** @type {{timer: ReturnType<typeof setTimeout>, again: () => void} | null} */
  #planned = null;

  /**
   * @param {import("./api.js").Api} api
   * @param {(conversation: string) => {url: string, protocols: string[]}} address of the socket
   * @param {(event: Happening) => void} emit
   * @param {boolean} [writes] whether questions can be asked without a speech service
   */
  constructor(api, address, emit, writes = false) {
    this.#writes = writes;
    this.#api = api;
    this.#address = address;
    this.#emit = emit;
  }

  /**
   * Opens a conversation, or this browser's open one.
   * @param {Identity} [identity] without it, whoever was calling
   * @param {boolean} [newCaller] somebody else than before
   */
  async start(identity = this.#identity, newCaller = false) {
    const mine = this.#drop();
    this.#identity = identity;
    this.#newCaller ||= newCaller;
    if (newCaller) this.#conversation = null;
    this.#emit({ type: "link.starting", newCaller });
    try {
      const conversation = await this.#api.bootstrap(identity);
      if (mine !== this.#attempt) return;
      // A link works once: from now on the browser's cookie says who is calling.
      if ("link" in identity) this.#identity = {};
      if (conversation.id !== this.#conversation) {
        this.#emit({ type: "conversation.begun", conversation, sameCaller: !this.#newCaller });
      }
      this.#newCaller = false;
      this.#conversation = conversation.id;
    } catch (error) {
      if (mine === this.#attempt) this.#refused(error, () => this.start());
      return;
    }
    await this.#open(mine);
  }

  /** Goes on with the same conversation, at once. */
  async reconnect() {
    if (!this.#conversation) return this.start();
    return this.#open(this.#drop());
  }

  /** The network is back: no need to wait any longer. */
  hurry() {
    const again = this.#planned?.again;
    if (!again) return;
    this.#drop();
    again();
  }

  /** The network is gone: the socket would notice only minutes later. */
  cut() {
    if (!this.#socket) return;
    const mine = this.#drop();
    this.#later(mine, whyLost(), backOff(this.#lost, Math.random()), () => this.reconnect());
  }

  /** The computer slept or changed its network: a socket that looks open may have been dead for long. */
  renew() {
    if (this.#socket) void this.reconnect();
    else this.hurry();
  }

  /** For good: whatever an attempt under way still brings opens nothing. */
  close() {
    this.#drop();
  }

  /**
   * @param {Record<string, unknown> & {type: string}} event
   * @returns {boolean} false when it did not leave
   */
  send(event) {
    const message = this.#written && event.type === "client-message";
    if (message) this.#api.message(/** @type {string} */ (this.#conversation), event).catch(() => {});
    if (message) return true;
    return this.#socket?.send(event) ?? false;
  }

  /**
   * @param {string} text
   * @param {AbortSignal} signal
   * @returns {Promise<ReadableStream<Uint8Array>>} the answer to a typed question
   */
  reason(text, signal) {
    return this.#api.reason(/** @type {string} */ (this.#conversation), text, signal);
  }

  /**
   * @param {number} turn of this conversation
   * @param {import("./types.js").Rating | null} rating
   * @returns {Promise<void>}
   * @throws {ApiError}
   */
  rate(turn, rating) {
    return this.#api.rate(/** @type {string} */ (this.#conversation), turn, rating);
  }

  #write() {
    this.#written = true;
    this.#emit({ type: "link.written" });
  }

  /** @returns {number} the number of the attempt that begins now */
  #drop() {
    this.#written = false;
    this.#socket?.close();
    this.#socket = null;
    this.#held = null;
    if (this.#planned) clearTimeout(this.#planned.timer);
    this.#planned = null;
    this.#attempt += 1;
    return this.#attempt;
  }

  /** @param {number} mine */
  async #open(mine) {
    const id = /** @type {string} */ (this.#conversation);
    this.#emit({ type: "link.connecting" });
    try {
      const { state, close_reason: reason, turns = [] } = await this.#api.conversation(id);
      if (mine !== this.#attempt) return;
      this.#emit({ type: "conversation.restored", turns });
      if (state === "closed") return this.#end("link.ended", reason ?? "normal");
    } catch (error) {
      if (mine !== this.#attempt) return;
      if (!(error instanceof ApiError)) throw error;
      if (error.code === "unreachable") return this.#closed(mine, 1006);
      if (error.status === 401 || error.status === 404) return this.#closed(mine, 4404);
      this.#emit({ type: "trouble", code: "history", message: "", ref: error.ref, retryMs: null, about: "" });
    }
    this.#told = NOTHING_TOLD;
    this.#socket = new Realtime(this.#address(id), {
      onFrame: (frame) => this.#receive(mine, frame),
      onClose: (code) => this.#closed(mine, code),
    });
  }

  /**
   * @param {number} mine
   * @param {string} frame
   */
  #receive(mine, frame) {
    const event = readFrame(frame, Date.now());
    if (!event) return;
    if (event.type === "trouble") this.#told = event;
    if (event.type === "closed") this.#told = { ...this.#told, code: event.reason };
    if (this.#held) this.#held.push(event);
    else if (event.type === "ready") void this.#ready(mine, event);
    else this.#emit(event);
  }

  /**
   * The call is this window's now, and the turn that it took from another one has ended: time for a second look.
   * @param {number} mine
   * @param {Happening} event
   */
  async #ready(mine, event) {
    this.#lost = 0;
    this.#bootstraps = 0;
    this.#held = [];
    const look = this.#api.conversation(/** @type {string} */ (this.#conversation)).catch(() => null);
    const seen = await Promise.race([look, after(LOOK_MS)]);
    if (mine !== this.#attempt || !this.#held) return;
    const late = this.#held;
    this.#held = null;
    if (seen) this.#emit({ type: "conversation.restored", turns: seen.turns ?? [] });
    this.#emit({ type: "link.ready" });
    for (const one of [event, ...late]) this.#emit(one);
  }

  /**
   * @param {number} mine
   * @param {number} closeCode
   */
  #closed(mine, closeCode) {
    if (mine !== this.#attempt) return;
    this.#socket = null;
    this.#held = null;
    const plan = planFor(closeCode, this.#told);
    if (plan.act === "end") this.#end("link.ended", plan.code);
    else if (plan.act === "fail" && plan.code === "speech_down" && this.#writes) this.#write();
    else if (plan.act === "fail") this.#end("link.failed", plan.code);
    else if (plan.act === "wait") this.#later(mine, plan.code, plan.ms, () => this.reconnect());
    else if (plan.act === "reconnect") {
      this.#later(mine, whyLost(), backOff(this.#lost, Math.random()), () => this.reconnect());
      this.#lost += 1;
    } else if (this.#bootstraps < BOOTSTRAPS) {
      this.#bootstraps += 1;
      void this.start();
    } else {
      this.#bootstraps = 0;
      this.#end("link.failed", "no_conversation");
    }
  }

  /**
   * @param {"link.ended" | "link.failed"} type
   * @param {string} code
   */
  #end(type, code) {
    this.#emit({ type, problem: { code, ref: this.#told.ref, retryAt: null } });
  }

  /**
   * @param {number} mine
   * @param {string} code
   * @param {number} ms
   * @param {() => void} again
   */
  #later(mine, code, ms, again) {
    this.#plan(mine, ms, again);
    this.#emit({ type: "link.lost", retryAt: Date.now() + ms, code });
  }

  /**
   * @param {number} mine
   * @param {number} ms
   * @param {() => void} again
   */
  #plan(mine, ms, again) {
    const timer = setTimeout(() => {
      if (mine === this.#attempt) again();
    }, ms);
    this.#planned = { timer, again };
  }

  /**
   * @param {unknown} error
   * @param {() => void} again
   */
  #refused(error, again) {
    const { code, ref, retryMs } = error instanceof ApiError ? error : new ApiError("unexpected");
    const alone = code === "unreachable";
    const ms = alone ? backOff(this.#lost, Math.random()) : retryMs;
    if (alone) this.#lost += 1;
    if (ms !== null) this.#plan(this.#attempt, ms, again);
    this.#emit({ type: "link.failed", problem: { code, ref, retryAt: ms === null ? null : Date.now() + ms } });
  }
}
