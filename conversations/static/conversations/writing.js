/** Typed questions while the speech service is away: asked over HTTP, answered as text. */

import { ApiError } from "./api.js";
import { readFrame } from "./events.js";

/**
 * @typedef {import("./types.js").Happening} Happening
 * @typedef {object} Parts
 * @property {(text: string, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>} ask throws ApiError
 * @property {(event: Happening) => void} emit
 */

const PREFIX = "data: ";

/**
 * @param {ReadableStream<Uint8Array>} stream of server-sent events
 * @returns {AsyncGenerator<Record<string, any>>} each one's JSON object
 */
async function* eventsOf(stream) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.startsWith(PREFIX)) yield JSON.parse(line.slice(PREFIX.length));
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}

/** One question at a time; a newer one, or a stop, ends the one before. */
export class Writing {
  #ask;
  #emit;
  /** @type {AbortController | null} */
  #running = null;
  #count = 0;

  /** @param {Parts} parts */
  constructor({ ask, emit }) {
    this.#ask = ask;
    this.#emit = emit;
  }

  stop() {
    const running = this.#running;
    this.#running = null;
    if (!running) return;
    running.abort();
    const response = `written-${this.#count}`;
    this.#emit({ type: "response.ended", response, status: "cancelled", reason: "client_cancelled" });
  }

  /**
   * @param {string} id of the typed line
   * @param {string} text
   */
  async ask(id, text) {
    this.stop();
    const mine = new AbortController();
    this.#running = mine;
    this.#count += 1;
    const response = `written-${this.#count}`;
    const item = `${response}-answer`;
    this.#emit({ type: "typed.sent", id });
    try {
      const stream = await this.#ask(text, mine.signal);
      if (mine.signal.aborted) return;
      this.#emit({ type: "item.placed", item: id, role: "user", after: null, text });
      this.#emit({ type: "response.started", response });
      for await (const event of eventsOf(stream)) {
        if (mine.signal.aborted) return;
        this.#take(event, response, item);
      }
    } catch (error) {
      if (mine.signal.aborted) return;
      const { code, ref } = error instanceof ApiError ? error : new ApiError("unreachable");
      this.#emit({ type: "typed.failed", id });
      this.#emit({ type: "trouble", code, message: "", ref, retryMs: null, about: "" });
      this.#emit({ type: "response.ended", response, status: "failed", reason: "" });
    } finally {
      if (this.#running === mine) this.#running = null;
    }
  }

  /**
   * @param {Record<string, any>} event
   * @param {string} response
   * @param {string} item
   */
  #take(event, response, item) {
    if (event.type === "turn.started") {
      this.#emit({ type: "turn.begun", turn: Number(event.turn) });
    } else if (event.type === "text.delta") {
      this.#emit({ type: "answer.delta", response, item, content: 0, text: String(event.delta) });
    } else if (event.type === "turn.completed") {
      this.#emit({ type: "answer.final", response, item, content: 0, text: String(event.text) });
      this.#emit({ type: "response.ended", response, status: "completed", reason: "" });
    } else if (event.type === "turn.failed") {
      const { code, message, ref = "" } = event;
      this.#emit({ type: "trouble", code, message, ref, retryMs: null, about: "" });
      this.#emit({ type: "response.ended", response, status: "failed", reason: "" });
    } else {
      const known = readFrame(JSON.stringify(event), Date.now());
      if (known) this.#emit(known);
    }
  }
}
