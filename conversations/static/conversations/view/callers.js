/** Who is calling, and in the demo who else could. */

import { find, make, write } from "./dom.js";

/** @typedef {import("../types.js").Boot} Boot */

const MEMORY = "vocero.demo.callers";

/** @returns {Record<string, string>} phones of the demo by the name behind them */
function remembered() {
  try {
    return JSON.parse(localStorage.getItem(MEMORY) ?? "{}");
  } catch {
    return {};
  }
}

/** Offers callers only where the server lists them. */
export class Callers {
  #page;
  #name;
  #select;
  #offered;
  #chosen = "";

  /**
   * @param {import("./dom.js").Page} page
   * @param {Boot} boot
   * @param {(phone: string) => void} choose
   * @param {AbortSignal} signal of the client's end
   */
  constructor(page, { unsafe_phone_selector: unsafe, demo_callers: callers, phone }, choose, signal) {
    this.#page = page;
    this.#name = find(page, "caller-name", HTMLElement);
    this.#select = find(page, "caller", HTMLSelectElement);
    this.#offered = unsafe ? callers : [];
    this.#chosen = phone ?? "";
    for (const { phone: value, label } of this.#offered) {
      const option = make("option", "", label);
      option.value = value;
      this.#select.append(option);
    }
    find(page, "caller-choice", HTMLElement).hidden = !this.#offered.length;
    const change = () => {
      this.#chosen = this.#select.value;
      if (this.#chosen) choose(this.#chosen);
    };
    this.#select.addEventListener("change", change, { signal });
  }

  /** @returns {string} the caller to begin with when nobody was named, empty outside the demo */
  takeFirst() {
    this.#chosen ||= this.#offered[0]?.phone ?? "";
    return this.#chosen;
  }

  /** @param {string} name of whoever the conversation belongs to: after a reload the page knows only that */
  meet(name) {
    const names = remembered();
    if (this.#chosen && this.#offered.length)
      localStorage.setItem(MEMORY, JSON.stringify({ ...names, [name]: this.#chosen }));
    else this.#chosen = names[name] ?? "";
  }

  /** @param {import("../model.js").Model} model */
  render(model) {
    write(this.#name, model.caller);
    if (this.#page.activeElement !== this.#select) this.#select.value = this.#chosen;
    this.#name.hidden = !model.caller;
  }
}
