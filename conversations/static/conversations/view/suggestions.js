/** Questions to begin with: in the welcome, and folded away later. */

import { say } from "../text.js";
import { find, make, write } from "./dom.js";

/** Draws them again only when they change. */
export class SuggestionsView {
  #welcome;
  #first;
  #line;
  #later;
  #list;
  #ask;
  /** @type {readonly string[]} */
  #drawn = [];

  /**
   * @param {import("./dom.js").Page} page
   * @param {(text: string) => void} ask
   */
  constructor(page, ask) {
    this.#welcome = find(page, "welcome", HTMLElement);
    this.#line = find(page, "welcome-line", HTMLElement);
    this.#first = find(page, "suggestions", HTMLUListElement);
    this.#later = find(page, "ideas", HTMLDetailsElement);
    this.#list = find(page, "ideas-list", HTMLUListElement);
    this.#ask = ask;
  }

  /** @param {import("../model.js").Model} model */
  render({ lines, questions }) {
    const fresh = !lines.length;
    this.#welcome.hidden = !fresh;
    this.#first.hidden = !questions.length;
    this.#later.hidden = fresh || !questions.length;
    write(this.#line, say(questions.length ? "welcome.suggested" : "welcome.plain"));
    if (questions === this.#drawn) return;
    this.#drawn = questions;
    for (const list of [this.#first, this.#list]) list.replaceChildren(...questions.map((text) => this.#item(text)));
  }

  /** @param {string} text */
  #item(text) {
    const button = make("button", "", text);
    button.type = "button";
    button.addEventListener("click", () => {
      this.#later.open = false;
      this.#ask(text);
    });
    return make("li", "", button);
  }
}
