/** The conversation in action: what the person does and what the server says, carried out on devices and the line. */

import { decodePcm } from "./audio/pcm.js";
import { Listening } from "./listening.js";
import { NAME as SEARCH } from "./search.js";
import { isBusy } from "./state.js";
import { textOf } from "./transcript.js";

/**
 * @typedef {import("./types.js").Happening} Happening
 * @typedef {import("./types.js").Deed} Deed
 * @typedef {object} Parts
 * @property {import("./model.js").Store} store
 * @property {import("./link.js").Link} link
 * @property {import("./audio/microphone.js").Microphone} microphone
 * @property {import("./audio/speaker.js").Speaker} speaker
 * @property {import("./search.js").WebSearch | null} [search] where this page may search the web
 * @property {import("./writing.js").Writing | null} [writing] where typed questions need no speech service
 */

/** So long after a question without any sign the page listens again; the server apologises sooner. */
const QUIET_MS = 30_000;
const REPORT_MS = 1000;

/** @returns {string} new also for a conversation that goes on after a reload */
function newId() {
  const random = crypto.getRandomValues(new Uint32Array(3));
  return `typed_${[...random].map((word) => word.toString(36)).join("")}`;
}

/** Owns no device and no socket: it is given them, so that a test can give others. */
export class Call {
  #store;
  #link;
  #speaker;
  #search;
  #writing;
  #reported = { item: "", ms: 0 };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #quiet;

  /** @param {Parts} parts */
  constructor({ store, link, microphone, speaker, search = null, writing = null }) {
    this.#store = store;
    this.#link = link;
    this.#speaker = speaker;
    this.#search = search;
    this.#writing = writing;
    this.listening = new Listening({
      store,
      link,
      microphone,
      revive: () => this.#revive(),
      interrupt: () => this.#goOn(),
    });
  }

  /** For good: the devices go silent, nothing is waited for. */
  close() {
    clearTimeout(this.#quiet);
    this.#writing?.stop();
    this.#search?.cancel();
    this.listening.close();
    this.#speaker.close();
  }

  // What the person does.

  /** Sound may begin with a press only. */
  unlock() {
    void this.#speaker.unlock();
  }

  /** Ends the answer and whatever is done for it. */
  async stop() {
    if (isBusy(this.#store.model.call.turn)) this.#link.send({ type: "response.cancel" });
    await this.#interrupt();
    this.#store.dispatch({ type: "stopped" });
  }

  /** @param {string} text not empty */
  async type(text) {
    void this.#speaker.unlock();
    const id = newId();
    this.#store.dispatch({ type: "typed", id, text });
    this.#revive();
    if (this.#store.model.call.turn.responses.length) this.#link.send({ type: "response.cancel" });
    await this.#interrupt();
    this.#deliver();
  }

  /** @param {string} id of a line that may not have arrived */
  async sendAgain(id) {
    const line = this.#store.model.lines.find((one) => one.id === id);
    if (!line) return;
    this.#store.dispatch({ type: "typed.withdrawn", id });
    await this.type(textOf(line));
  }

  /**
   * @param {string} nonce of a sheet
   * @param {"yes" | "no"} answer
   */
  confirm(nonce, answer) {
    void this.#speaker.unlock();
    if (!this.#store.model.sheets.some((sheet) => sheet.nonce === nonce)) return;
    const data = { t: "confirm_answer", d: { nonce, answer } };
    if (!this.#link.send({ label: "rtvi-ai", type: "client-message", id: newId(), data })) return;
    this.#store.dispatch({ type: "sheet.answered", nonce });
  }

  /**
   * @param {{id: string, command: string}} asked by a brain
   * @param {import("./actions.js").Outcome} outcome
   */
  reportAction({ id, command }, outcome) {
    const data = { t: "action", d: { id, command, outcome } };
    this.#link.send({ label: "rtvi-ai", type: "client-message", id: newId(), data });
  }

  /** @param {string} phone of the demo */
  async switchCaller(phone) {
    this.listening.stop();
    await this.#speaker.flush(this.#store.model.call.turn.responses);
    await this.#link.start({ phone }, true);
  }

  /** @param {Deed} deed */
  async act(deed) {
    void this.#speaker.unlock();
    if (deed === "retry" || deed === "begin") await this.#link.start();
    else if (deed === "reconnect") await this.#link.reconnect();
    else if (deed === "microphone") await this.listening.press();
    else if (deed === "push") this.listening.chooseWay("push");
    else if (deed === "dismiss") this.#store.dispatch({ type: "trouble.dismissed" });
  }

  // What the devices do.

  /**
   * @param {string} item
   * @param {number} content
   * @param {number} ms
   */
  heard(item, content, ms) {
    const before = item === this.#reported.item ? this.#reported.ms : 0;
    if (ms - before < REPORT_MS) return;
    this.heardAll(item, content, ms);
  }

  /**
   * @param {string} item
   * @param {number} content
   * @param {number} ms
   */
  heardAll(item, content, ms) {
    this.#reported = { item, ms };
    this.#link.send({ type: "vocero.client.played", item_id: item, content_index: content, played_ms: ms });
  }

  // What the server says.

  /** @param {Happening} event already in the model */
  react(event) {
    this.#watchQuiet();
    this.listening.react(event);
    switch (event.type) {
      case "heard.started":
        // While a sheet is open it may be noise, for which nothing ends.
        if (!this.#store.model.sheets.length) this.#search?.cancel();
        void this.#interrupt();
        break;
      case "page.called":
        if (event.name === SEARCH) void this.#search?.run(event, event.at);
        break;
      case "typed":
      case "stopped":
        this.#writing?.stop();
        this.#search?.cancel();
        break;
      case "answer.sound": {
        const { response, item, content, audio } = event;
        this.#speaker.play({ response, item, content, samples: decodePcm(audio) });
        break;
      }
      case "answer.sounded":
        this.#speaker.end(event.response);
        break;
      case "tool.slow":
        this.#speaker.cue();
        break;
      case "response.ended":
        this.#speaker.end(event.response);
        if (event.reason === "turn_detected") void this.#interrupt();
        break;
      case "link.written":
        void this.#hangUp();
        this.#deliver();
        break;
      case "ready":
        this.#search?.declare();
        this.#deliver();
        break;
      case "trouble":
        if (event.about) this.#notDelivered(event.about);
        break;
      case "link.lost":
        this.#search?.cancel();
        this.#speaker.end();
        break;
      case "link.ended":
      case "link.failed":
        this.#search?.cancel();
        void this.#hangUp();
        break;
    }
  }

  /** Silence at once; nobody is left to tell what was heard, but the page shows it. */
  async #hangUp() {
    this.listening.stop();
    for (const { item, playedMs, receivedMs } of await this.#speaker.flush([])) {
      this.#store.dispatch({ type: "answer.cut", item, playedMs, receivedMs });
    }
  }

  /** The caller begins to speak without the service's noticing; over a sheet only words count. */
  #goOn() {
    const { call, sheets } = this.#store.model;
    if (!sheets.length) {
      this.#search?.cancel();
      if (isBusy(call.turn)) this.#link.send({ type: "response.cancel" });
    }
    void this.#interrupt();
  }

  /** Silence at once; the server learns what was heard. */
  async #interrupt() {
    const { responses } = this.#store.model.call.turn;
    this.#store.dispatch({ type: "answers.stopped", responses });
    for (const { item, content, playedMs, receivedMs } of await this.#speaker.flush(responses)) {
      this.heardAll(item, content, playedMs);
      const where = { item_id: item, content_index: content, audio_end_ms: playedMs };
      this.#link.send({ type: "conversation.item.truncate", ...where });
      this.#store.dispatch({ type: "answer.cut", item, playedMs, receivedMs });
    }
  }

  /** Sends what waits, in the order in which it was typed. */
  #deliver() {
    for (const line of this.#store.model.lines) {
      if (line.delivery === "waiting" && this.#store.model.call.link === "written") {
        void this.#writing?.ask(line.id, textOf(line));
        return;
      }
      if (line.delivery !== "waiting" || this.#store.model.call.link !== "open") continue;
      const content = [{ type: "input_text", text: textOf(line) }];
      const item = { id: line.id, type: "message", role: "user", content };
      if (!this.#link.send({ type: "conversation.item.create", event_id: line.id, item })) return;
      this.#link.send({ type: "response.create" });
      this.#store.dispatch({ type: "typed.sent", id: line.id });
    }
  }

  /** @param {string} id */
  #notDelivered(id) {
    const refused = this.#store.model.lines.some((line) => line.id === id && line.delivery);
    if (refused) this.#store.dispatch({ type: "typed.failed", id });
  }

  /** A person who speaks or types after the end wants the conversation back. */
  #revive() {
    const { call, problem } = this.#store.model;
    if (call.link === "ended" && problem?.code === "taken_over") void this.#link.reconnect();
    else if (call.link === "ended") void this.#link.start();
    else if (call.link === "failed") void this.#link.reconnect();
    else if (call.link === "written" && call.microphone === "asking") void this.#link.reconnect();
    else if (call.link === "reconnecting") this.#link.hurry();
  }

  #watchQuiet() {
    clearTimeout(this.#quiet);
    const { call, sheets } = this.#store.model;
    if (!call.turn.awaiting || call.turn.tools.length || sheets.length) return;
    this.#quiet = setTimeout(() => this.#store.dispatch({ type: "link.quiet" }), QUIET_MS);
  }
}
