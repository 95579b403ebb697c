/** Typing, and questions to begin with. */

import { find } from "./dom.js";

/** A draft leaves the box only when it was handed on. */
export class Composer {
  #client;
  #form;
  #box;
  #welcome;
  #ask;

  /**
   * @param {import("./dom.js").Page} page
   * @param {(text: string) => void} ask
   */
  constructor(page, ask) {
    this.#client = find(page, "client", HTMLElement);
    this.#form = find(page, "composer", HTMLFormElement);
    this.#box = find(page, "draft", HTMLTextAreaElement);
    this.#welcome = find(page, "welcome", HTMLElement);
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
    this.#client.dataset.fresh = String(model.lines.length === 0);
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
