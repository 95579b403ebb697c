/** Questions to begin with: in the welcome, and folded away later. */

import { faceOf } from "../look.js";
import { say } from "../text.js";
import { isAnswered } from "../transcript.js";
import { find, make, write } from "./dom.js";

/**
 * @param {import("../look.js").Face} face
 * @param {boolean} suggested whether there are questions to begin with
 * @returns {string} how one begins; nothing where one cannot
 */
function beginning(face, suggested) {
  if (face === "error") return "";
  if (face === "written") return say(suggested ? "welcome.suggested_written" : "welcome.written");
  return say(suggested ? "welcome.suggested" : "welcome.plain");
}

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
  render(model) {
    const { lines, questions } = model;
    this.#welcome.hidden = lines.length > 0;
    this.#first.hidden = !questions.length;
    this.#later.hidden = !questions.length || !isAnswered(lines);
    write(this.#line, beginning(faceOf(model), questions.length > 0));
    if (questions === this.#drawn) return;
    this.#drawn = questions;
    for (const list of [this.#first, this.#list]) list.replaceChildren(...questions.map((text) => this.#item(text)));
  }

  /** @param {string} text */
  #item(text) {
    const button = make("button", "", text);
    button.type = "button";
    button.dir = "auto";
    button.addEventListener("click", () => {
      this.#later.open = false;
      this.#ask(text);
    });
    return make("li", "", button);
  }
}
