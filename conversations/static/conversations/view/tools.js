/** The list of what the caller may ask for, folded away until somebody opens it. */

import { readable } from "../chips.js";
import { say } from "../text.js";
import { find, make, write } from "./dom.js";

/** Shows; hidden while there is nothing to list. */
export class ToolsView {
  #box;
  #title;
  #list;
  /** @type {import("../toolbook.js").ListedTool[]} */
  #tools = [];
  /** @type {Record<string, string>} */
  #labels = {};

  /** @param {import("./dom.js").Page} page */
  constructor(page) {
    this.#box = find(page, "tools", HTMLDetailsElement);
    this.#title = find(page, "tools-title", HTMLElement);
    this.#list = find(page, "tools-list", HTMLElement);
  }

  /** @param {import("../toolbook.js").ListedTool[]} tools */
  show(tools) {
    this.#tools = tools;
    this.#draw();
  }

  /** @param {Record<string, string>} labels by name, as the operator has set them */
  label(labels) {
    this.#labels = labels;
    this.#draw();
  }

  #draw() {
    const tools = this.#tools;
    this.#box.hidden = !tools.length;
    if (!tools.length) this.#box.open = false;
    write(this.#title, say("tools.title", { n: tools.length }));
    this.#list.replaceChildren(
      ...tools.map(({ name, description }) => make("li", "", make("strong", "", this.#labels[name] ?? readable(name)), description)),
    );
  }
}
