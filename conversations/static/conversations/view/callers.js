/** Who is calling, and in the demo who else could. */

import { find, make, write } from "./dom.js";

/** @typedef {import("../types.js").Boot} Boot */

/** Offers callers only where the server lists them. */
export class Callers {
  #name = find("caller-name", HTMLElement);
  #select = find("caller", HTMLSelectElement);
  #offered;
  #chosen = "";

  /**
   * @param {Boot} boot
   * @param {(phone: string) => void} choose
   */
  constructor({ unsafe_phone_selector: unsafe, demo_callers: callers, phone }, choose) {
    this.#offered = unsafe ? callers : [];
    this.#chosen = phone ?? "";
    for (const { phone: value, label } of this.#offered) {
      const option = make("option", "", label);
      option.value = value;
      this.#select.append(option);
    }
    find("caller-choice", HTMLElement).hidden = !this.#offered.length;
    this.#select.addEventListener("change", () => {
      this.#chosen = this.#select.value;
      choose(this.#select.value);
    });
  }

  /** @returns {string} who calls when nobody was named, empty outside the demo */
  get first() {
    return this.#chosen || (this.#offered[0]?.phone ?? "");
  }

  /** @param {import("../model.js").Model} model */
  render(model) {
    write(this.#name, model.caller);
    const known = this.#offered.find(({ label, phone }) => phone === this.#chosen || label.includes(model.caller || "\0"));
    const value = known?.phone ?? "";
    if (document.activeElement !== this.#select) this.#select.value = value;
    this.#name.hidden = !model.caller || this.#select.selectedIndex > 0;
  }
}
