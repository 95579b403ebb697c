/** The microphone's button, and holding to talk: with a finger, a mouse, the space bar, or one press for each end. */

import { find } from "./dom.js";

/**
 * @typedef {object} Gestures
 * @property {() => void} press a press that is over, from whatever can press
 * @property {() => void} hold
 * @property {() => void} release
 * @property {() => void} drop
 */

/** What the space bar is for while it has the keyboard. */
const TAKES_SPACE = "input, textarea, select, button, a[href], summary, dialog[open], [contenteditable]";

/** Tells gestures; a held button that is cancelled was not meant. */
export class Hold {
  #microphone;
  #gestures;
  #push = false;
  /** @type {"pointer" | "key" | null} */
  #by = null;

  /**
   * @param {import("./dom.js").Page} page keys count inside of it only
   * @param {Gestures} gestures
   * @param {AbortSignal} signal of the client's end
   */
  constructor(page, gestures, signal) {
    this.#microphone = find(page, "microphone", HTMLButtonElement);
    this.#gestures = gestures;
    const options = { signal };
    const button = this.#microphone;
    button.addEventListener("click", (event) => this.#click(event), options);
    button.addEventListener("pointerdown", (event) => this.#down(event), options);
    button.addEventListener("pointerup", () => this.#end("pointer", "release"), options);
    button.addEventListener("pointercancel", () => this.#end("pointer", "drop"), options);
    const menu = (/** @type {Event} */ event) => {
      if (this.#push) event.preventDefault();
    };
    button.addEventListener("contextmenu", menu, options);
    page.addEventListener("keydown", (event) => this.#keyDown(/** @type {KeyboardEvent} */ (event)), options);
    page.addEventListener("keyup", (event) => this.#keyUp(/** @type {KeyboardEvent} */ (event)), options);
    const away = () => this.#end(this.#by, "release");
    addEventListener("blur", away, options);
    document.addEventListener("visibilitychange", away, options);
  }

  /** @param {import("../model.js").Model} model */
  render({ way }) {
    this.#push = way === "push";
  }

  /** @param {MouseEvent} event */
  #click({ detail }) {
    // A click of a pointer was a hold already; one without is made by a key or by what helps to press.
    if (!this.#push || detail === 0) this.#gestures.press();
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (!this.#push || event.button !== 0 || this.#by) return;
    this.#microphone.setPointerCapture(event.pointerId);
    this.#begin("pointer");
  }

  /** @param {KeyboardEvent} event */
  #keyDown(event) {
    if (event.key === "Enter" && event.repeat && event.composedPath()[0] === this.#microphone) event.preventDefault();
    if (!this.#push || event.key !== " " || !this.#means(event)) return;
    event.preventDefault();
    if (!this.#by) this.#begin("key");
  }

  /** @param {KeyboardEvent} event */
  #keyUp(event) {
    if (event.key !== " " || this.#by !== "key") return;
    event.preventDefault();
    this.#end("key", "release");
  }

  /**
   * @param {KeyboardEvent} event
   * @returns {boolean} whether the space bar is free for talking
   */
  #means(event) {
    const target = event.composedPath()[0];
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return false;
    return target === this.#microphone || !(target instanceof Element) || !target.closest(TAKES_SPACE);
  }

  /** @param {"pointer" | "key"} by */
  #begin(by) {
    this.#by = by;
    this.#gestures.hold();
  }

  /**
   * @param {"pointer" | "key" | null} by
   * @param {"release" | "drop"} how
   */
  #end(by, how) {
    if (!by || this.#by !== by) return;
    this.#by = null;
    this.#gestures[how]();
  }
}
