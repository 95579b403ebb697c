/** The state of the call in large letters, the microphone, and the one thing to tell. */

import { faceOf } from "../look.js";
import { noticeOf } from "../notice.js";
import { phaseOf } from "../state.js";
import { duration, say, translated } from "../text.js";
import { find, write } from "./dom.js";

/**
 * @typedef {import("../model.js").Model} Model
 * @typedef {import("../look.js").Face} Face
 * @typedef {import("../text.js").TextKey} TextKey
 * @typedef {import("../types.js").Deed} Deed
 * @typedef {{toggleMute: () => void, stop: () => void, act: (deed: Deed) => void}} Intents
 */

/**
 * @param {Model} model
 * @param {Face} face
 * @returns {string}
 */
function hintOf(model, face) {
  const { turn, microphone } = model.call;
  if (face === "looking") return translated(model.chips[turn.tools[turn.tools.length - 1]]?.label ?? "");
  if (model.way === "push" && (face === "ready" || face === "hearing" || face === "speaking")) {
    return say(`hint.${face}_push`);
  }
  if (face === "speaking" && microphone !== "on") return say("hint.speaking_alone");
  return say(`hint.${face}`);
}

/** @type {Record<string, Record<string, TextKey>>} */
const PRESS = {
  hands_free: {
    off: "microphone.start",
    resting: "microphone.start",
    asking: "microphone.cancel",
    on: "microphone.stop",
    muted: "microphone.stop",
  },
  push: { off: "microphone.hold", resting: "microphone.hold", asking: "microphone.hold", on: "microphone.let_go" },
};

/** Shows; decides nothing. */
export class Stage {
  #page;
  #client;
  #microphone;
  #microphoneLabel;
  #word;
  #hint;
  #notice;
  #noticeText;
  #noticeTime;
  #noticeRef;
  #deed;
  #mute;
  #stop;
  /** @type {Deed | null} */
  #offered = null;

  /**
   * @param {import("./dom.js").Page} page
   * @param {Intents} intents
   * @param {AbortSignal} signal of the client's end
   */
  constructor(page, intents, signal) {
    this.#page = page;
    this.#client = find(page, "client", HTMLElement);
    this.#microphone = find(page, "microphone", HTMLButtonElement);
    this.#microphoneLabel = find(page, "microphone-label", HTMLElement);
    this.#word = find(page, "word", HTMLElement);
    this.#hint = find(page, "hint", HTMLElement);
    this.#notice = find(page, "notice", HTMLElement);
    this.#noticeText = find(page, "notice-text", HTMLElement);
    this.#noticeTime = find(page, "notice-time", HTMLElement);
    this.#noticeRef = find(page, "notice-ref", HTMLElement);
    this.#deed = find(page, "deed", HTMLButtonElement);
    this.#mute = find(page, "mute", HTMLButtonElement);
    this.#stop = find(page, "stop", HTMLButtonElement);
    this.#mute.addEventListener("click", () => intents.toggleMute(), { signal });
    this.#stop.addEventListener("click", () => intents.stop(), { signal });
    const act = () => {
      if (this.#offered) intents.act(this.#offered);
    };
    this.#deed.addEventListener("click", act, { signal });
  }

  /**
   * @param {Model} model
   * @param {number} now ms of the page's clock
   */
  render(model, now) {
    const phase = phaseOf(model.call);
    const { microphone } = model.call;
    const face = faceOf(model);
    const notice = noticeOf(model);
    this.#client.dataset.phase = phase;
    this.#client.dataset.face = face;
    this.#client.dataset.microphone = microphone;
    this.#client.dataset.way = model.way;
    write(this.#word, say(`phase.${face}`));
    write(this.#hint, notice && (phase === "reconnecting" || phase === "ready") ? "" : hintOf(model, face));
    write(this.#microphoneLabel, say(PRESS[model.way][microphone] ?? "microphone.stop"));
    this.#microphone.setAttribute("aria-pressed", String(microphone === "on" || microphone === "muted"));
    this.#offer(this.#mute, model.way === "hands_free" && (microphone === "on" || microphone === "muted"));
    this.#mute.setAttribute("aria-pressed", String(microphone === "muted"));
    write(this.#mute, say(microphone === "muted" ? "microphone.unmute" : "microphone.mute"));
    this.#offer(this.#stop, phase === "speaking" || phase === "thinking");
    this.#tell(notice, now);
  }

  /**
   * A button that goes would take the keyboard's place with it: that moves to the microphone, which stays.
   * @param {HTMLButtonElement} button
   * @param {boolean} shown
   */
  #offer(button, shown) {
    if (!shown && this.#page.activeElement === button) this.#microphone.focus({ preventScroll: true });
    button.hidden = !shown;
  }

  /**
   * @param {import("../notice.js").Notice | null} notice
   * @param {number} now
   */
  #tell(notice, now) {
    const left = notice?.until == null ? 0 : notice.until - now;
    const coming = notice?.text === "conversation.expiring" ? "conversation.ends_in" : "retry.in";
    this.#notice.hidden = !notice;
    this.#notice.dataset.tone = notice?.tone ?? "";
    this.#offered = notice?.deed ?? null;
    this.#offer(this.#deed, this.#offered !== null);
    const words = notice ? [say(notice.text), translated(notice.detail)] : [];
    write(this.#noticeText, words.filter(Boolean).join(" "));
    write(this.#noticeTime, left > 0 ? say(coming, { time: duration(left) }) : "");
    write(this.#noticeRef, notice?.ref ? say("ref", { ref: notice.ref }) : "");
    write(this.#deed, notice?.label ? say(notice.label) : "");
  }
}
