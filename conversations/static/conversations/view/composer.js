/** Typing. */

import { find } from "./dom.js";

/** A draft leaves the box only when it was handed on. */
export class Composer {
  #client;
  #microphone;
  #form;
  #box;
  #ask;

  /**
   * @param {import("./dom.js").Page} page
   * @param {(text: string) => void} ask
   * @param {AbortSignal} signal of the client's end
   */
  constructor(page, ask, signal) {
    this.#client = find(page, "client", HTMLElement);
    this.#microphone = find(page, "microphone", HTMLButtonElement);
    this.#form = find(page, "composer", HTMLFormElement);
    this.#box = find(page, "draft", HTMLTextAreaElement);
    this.#ask = ask;
    /** @param {Event} event */
    const submit = (event) => {
      event.preventDefault();
      this.#send();
    };
    /** @param {KeyboardEvent} event */
    const press = (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
    };
    this.#form.addEventListener("submit", submit, { signal });
    this.#box.addEventListener("keydown", press, { signal });
  }

  /** @param {import("../model.js").Model} model */
  render(model) {
    this.#client.dataset.fresh = String(model.lines.length === 0);
  }

  /** Where one can go on after a press on something that is about to go; a finger wants no keyboard on the screen. */
  focus() {
    const place = matchMedia("(pointer: coarse)").matches ? this.#microphone : this.#box;
    place.focus({ preventScroll: true });
  }

  #send() {
    const text = this.#box.value.trim();
    if (!text) return;
    this.#box.value = "";
    this.#ask(text);
  }
}
