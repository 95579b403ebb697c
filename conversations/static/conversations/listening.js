/** The caller's sound: the microphone opened, muted, held, replaced, and what of it goes to the server. */

import { MicrophoneError } from "./audio/microphone.js";
import { WIRE_RATE, encodeBase64 } from "./audio/pcm.js";

/**
 * @typedef {import("./types.js").Happening} Happening
 * @typedef {import("./preferences.js").Way} Way
 * @typedef {ReturnType<typeof setTimeout> | undefined} Timer
 * @typedef {object} Parts
 * @property {import("./model.js").Store} store
 * @property {import("./link.js").Link} link
 * @property {import("./audio/microphone.js").Microphone} microphone
 * @property {() => void} revive a person who talks wants the conversation back
 * @property {() => void} interrupt silence, for the caller goes on
 */

/** Silence behind the last word lets the speech service notice the end of a sentence. */
const TAIL_MS = 800;
/** Fingers are faster than words: what is said while letting go still counts. */
const LINGER_MS = 200;
/** Whoever held it for less did not speak. */
const SHORTEST_MS = 300;
/** So long the microphone stays open between two talks, for its opening would cost the first word. */
const REST_MS = 60_000;
/** So long the room still sounds after the loudspeaker. */
const ECHO_MS = 300;

/** Owns no device: it is given one, so that a test can give another. */
export class Listening {
  #store;
  #link;
  #microphone;
  #revive;
  #interrupt;
  #held = false;
  #echo = false;
  #talkedMs = 0;
  /** An answer is asked for once what was said is an item: before that it would answer what was there. */
  #asks = false;
  /** The service was told to wait for the end that the caller gives. */
  #manual = false;
  /** It cannot: it finds the ends of sentences by itself all the same. */
  #findsEnds = false;
  /** @type {Timer} */
  #linger;
  /** @type {Timer} */
  #rest;
  /** @type {Timer} */
  #fades;

  /** @param {Parts} parts */
  constructor({ store, link, microphone, revive, interrupt }) {
    this.#store = store;
    this.#link = link;
    this.#microphone = microphone;
    this.#revive = revive;
    this.#interrupt = interrupt;
  }

  get #state() {
    return this.#store.model.call.microphone;
  }

  /** Whether a sentence may be under way whose end the service has to notice by itself. */
  get #hearsFreely() {
    return this.#store.model.way === "hands_free" && (this.#state === "on" || this.#state === "muted");
  }

  /** One press begins or ends; where one holds to talk, it is for those who cannot hold. */
  async press() {
    if (this.#store.model.way === "push") {
      if (this.#held || this.#state === "on") this.release();
      else this.hold();
    } else if (this.#state !== "off") this.stop();
    else if (await this.#open()) this.#store.dispatch({ type: "microphone.opened" });
  }

  hold() {
    if (this.#held) return;
    this.#held = true;
    clearTimeout(this.#linger);
    clearTimeout(this.#rest);
    if (this.#state === "off") void this.#openHeld();
    else if (this.#state === "resting") this.#begin();
  }

  release() {
    if (!this.#held) return;
    this.#held = false;
    if (this.#state === "on") this.#linger = setTimeout(() => this.#finish(true), LINGER_MS);
  }

  /** What was begun is not meant: a finger that slid, a call that came in. */
  drop() {
    this.#held = false;
    if (this.#state === "on" && this.#store.model.way === "push") this.#finish(false);
  }

  toggleMute() {
    const muted = this.#state === "on";
    this.#microphone.mute(muted);
    this.#store.dispatch({ type: muted ? "microphone.muted" : "microphone.unmuted" });
  }

  stop() {
    this.#held = false;
    for (const timer of [this.#linger, this.#rest]) clearTimeout(timer);
    if (this.#state === "off") return;
    this.#microphone.close();
    if (this.#hearsFreely) this.#sendTail();
    this.#store.dispatch({ type: "microphone.stopped" });
  }

  /** For good. */
  close() {
    for (const timer of [this.#linger, this.#rest, this.#fades]) clearTimeout(timer);
    this.#microphone.close();
  }

  /** Opens it to be looked at; nothing of it is sent. */
  async try() {
    if (this.#state === "off" && (await this.#open())) this.#store.dispatch({ type: "microphone.rested" });
  }

  endTry() {
    if (this.#state === "resting" && this.#store.model.way === "hands_free") this.stop();
  }

  /** @param {Way} way */
  chooseWay(way) {
    if (way === this.#store.model.way) return;
    this.stop();
    this.#store.dispatch({ type: "way.chosen", way });
    this.#declare(false);
  }

  /** @param {string} id of the microphone, empty for the default one */
  async chooseInput(id) {
    this.#store.dispatch({ type: "input.chosen", id });
    if (this.#state === "off" || this.#state === "asking") return;
    if (await this.#reach(id)) this.#microphone.mute(this.#state === "muted");
  }

  /** @param {Int16Array} samples */
  take(samples) {
    const { call, way } = this.#store.model;
    if (call.link !== "open" || (call.microphone !== "on" && call.microphone !== "muted")) return;
    // Without an echo canceller the assistant would interrupt itself.
    const echoes = way === "hands_free" && (call.turn.playing || this.#echo);
    if (echoes && !this.#microphone.cancelsEcho) return;
    this.#talkedMs += (samples.length * 1000) / WIRE_RATE;
    this.#send(samples);
  }

  /** The device is gone, or the browser took it away. */
  async lost() {
    if (this.#hearsFreely) this.#sendTail();
    const allowed = await this.#microphone.permission();
    if (allowed === "unknown" || allowed === "granted") {
      if (allowed === "granted" && (await this.#replace())) return;
      this.#store.dispatch({ type: "microphone.failed", problem: "lost" });
    } else this.#store.dispatch({ type: "microphone.failed", problem: "denied" });
  }

  /** @param {Happening} event already in the model */
  react(event) {
    switch (event.type) {
      case "ready":
        this.#declare(true);
        break;
      case "talk.committed":
        if (this.#asks) this.#link.send({ type: "response.create" });
        this.#asks = false;
        break;
      case "conversation.begun":
        this.#manual = false;
        break;
      case "heard.started":
        this.#findsEnds ||= this.#manual;
        break;
      case "sound.playing":
        clearTimeout(this.#fades);
        this.#echo = true;
        if (!event.playing) this.#fades = setTimeout(() => (this.#echo = false), ECHO_MS);
        break;
      case "microphone.failed":
        this.#held = false;
        break;
    }
  }

  /** @returns {Promise<boolean>} whether it is open now */
  async #open() {
    this.#store.dispatch({ type: "microphone.asked" });
    this.#revive();
    return this.#reach(this.#store.model.chosen.input);
  }

  async #openHeld() {
    if (!(await this.#open())) return;
    this.#store.dispatch({ type: "microphone.rested" });
    if (this.#held) this.#begin();
    else {
      this.stop();
      this.#remark("talk.again");
    }
  }

  /**
   * @param {string} id
   * @returns {Promise<boolean>}
   */
  async #reach(id) {
    try {
      if (!(await this.#microphone.open(id))) return false;
    } catch (error) {
      const problem = error instanceof MicrophoneError ? error.problem : "unsupported";
      this.#store.dispatch({ type: "microphone.failed", problem });
      return false;
    }
    const { using, cancelsEcho } = this.#microphone;
    if (id && using.id !== id) this.#remark("devices.input_gone", using.label);
    else if (!cancelsEcho && this.#store.model.way === "hands_free") this.#remark("talk.echo", "", "push");
    return true;
  }

  /** @returns {Promise<boolean>} whether another microphone took its place */
  async #replace() {
    const muted = this.#state === "muted";
    try {
      if (!(await this.#microphone.open(""))) return true;
    } catch {
      return false;
    }
    this.#microphone.mute(muted);
    this.#remark("devices.input_replaced", this.#microphone.using.label);
    return true;
  }

  #begin() {
    this.#talkedMs = 0;
    this.#asks = false;
    this.#revive();
    this.#interrupt();
    if (this.#waitsForEnd) this.#link.send({ type: "input_audio_buffer.clear" });
    this.#store.dispatch({ type: "talk.begun" });
  }

  /** @param {boolean} meant */
  #finish(meant) {
    clearTimeout(this.#linger);
    const open = this.#store.model.call.link === "open";
    const asked = meant && open && this.#talkedMs >= SHORTEST_MS;
    if (!this.#waitsForEnd) this.#sendTail();
    else if (asked) {
      this.#link.send({ type: "input_audio_buffer.commit" });
      this.#asks = true;
    } else this.#link.send({ type: "input_audio_buffer.clear" });
    this.#store.dispatch({ type: "talk.ended", asked });
    if (meant && open && !asked) this.#remark("talk.short");
    this.#rest = setTimeout(() => this.stop(), REST_MS);
  }

  get #waitsForEnd() {
    return this.#manual && !this.#findsEnds;
  }

  /**
   * Where one holds to talk, the service waits for the end that the caller gives.
   * @param {boolean} anew the service may have forgotten what it was told
   */
  #declare(anew) {
    const manual = this.#store.model.way === "push";
    if (anew) this.#findsEnds = false;
    if (this.#store.model.call.link !== "open" || (manual === this.#manual && !(manual && anew))) return;
    this.#manual = manual;
    const input = { turn_detection: manual ? null : { type: "server_vad" } };
    this.#link.send({ type: "session.update", session: { type: "realtime", audio: { input } } });
  }

  #sendTail() {
    if (this.#store.model.call.link === "open") this.#send(new Int16Array((WIRE_RATE * TAIL_MS) / 1000));
  }

  /** @param {Int16Array} samples */
  #send(samples) {
    const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
    this.#link.send({ type: "input_audio_buffer.append", audio: encodeBase64(bytes) });
  }

  /**
   * @param {import("./text.js").TextKey} text
   * @param {string} [detail]
   * @param {import("./types.js").Deed} [deed]
   */
  #remark(text, detail = "", deed = "dismiss") {
    this.#store.dispatch({ type: "remarked", text, detail, deed });
  }
}
