/** Typing, and questions to begin with. */

import { find } from "./dom.js";

/** A draft leaves the box only when it was handed on. */
export class Composer {
  #form = find("composer", HTMLFormElement);
  #box = find("draft", HTMLTextAreaElement);
  #welcome = find("welcome", HTMLElement);
  #ask;

  /** @param {(text: string) => void} ask */
  constructor(ask) {
    this.#ask = ask;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.#box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#send();
    });
    for (const button of this.#welcome.querySelectorAll("button")) {
      button.addEventListener("click", () => this.#suggest(button.textContent ?? ""));
    }
  }

  /** @param {import("../model.js").Model} model */
  render(model) {
    this.#welcome.hidden = model.lines.length > 0;
    document.body.dataset.fresh = String(model.lines.length === 0);
  }

  /** @param {string} text */
  #suggest(text) {
    this.#ask(text.trim());
    // The button is about to go; the keyboard stays where one can go on.
    this.#box.focus({ preventScroll: true });
  }

  #send() {
    const text = this.#box.value.trim();
    if (!text) return;
    this.#box.value = "";
    this.#ask(text);
  }
}
