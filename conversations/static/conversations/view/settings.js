/** The sheet on which one chooses how to talk, the microphone and the loudspeaker, and sees that one is heard. */

import { say } from "../text.js";
import { find, make, write } from "./dom.js";
import { toSight } from "./orb.js";

/**
 * @typedef {import("../model.js").Model} Model
 * @typedef {import("../types.js").Device} Device
 * @typedef {object} Choices
 * @property {(way: import("../preferences.js").Way) => void} way
 * @property {(id: string) => void} input
 * @property {(id: string) => void} output
 * @property {() => void} tryInput
 * @property {() => void} tryOutput
 * @property {() => void} opened
 * @property {() => void} closed
 */

/** The bar falls so much in each frame of 20 ms. */
const FALL = 0.92;

/**
 * @param {HTMLSelectElement} select
 * @param {Device[]} devices
 * @param {string} chosen
 */
function offer(select, devices, chosen) {
  const known = devices.some(({ id }) => id === chosen) || !chosen;
  const all = [{ id: "", label: say("devices.default") }, ...devices, ...(known ? [] : [{ id: chosen, label: "" }])];
  const words = all.map(({ id, label }, n) => ({ id, label: label || say("devices.unnamed", { n }) }));
  const shown = JSON.stringify(words);
  // An open list would close when it is written again.
  if (select.dataset.shown !== shown) {
    select.dataset.shown = shown;
    select.replaceChildren(
      ...words.map(({ id, label }) => {
        const option = make("option", "", label);
        option.value = id;
        return option;
      }),
    );
  }
  if (select.value !== chosen) select.value = chosen;
}

/**
 * @param {Model} model
 * @returns {string}
 */
function note({ call, devices }) {
  if (call.microphone === "muted") return say("devices.muted");
  if (call.microphone === "on") return say("devices.live");
  if (call.microphone === "resting") return say("devices.speak");
  return devices.inputs.some(({ label }) => label) ? "" : say("devices.names");
}

/** Shows and asks; a sheet that waits for the caller goes before it. */
export class SettingsView {
  #dialog;
  #ways;
  #input;
  #output;
  #outputField;
  #meter;
  #note;
  #tryInput;
  #canChoose;
  #level = 0;

  /**
   * @param {import("./dom.js").Page} page
   * @param {Choices} choices
   * @param {boolean} canChoose whether the browser lets the page choose the loudspeaker
   * @param {AbortSignal} signal of the client's end
   */
  constructor(page, choices, canChoose, signal) {
    this.#dialog = find(page, "settings", HTMLDialogElement);
    this.#ways = [find(page, "way-hands-free", HTMLInputElement), find(page, "way-push", HTMLInputElement)];
    this.#input = find(page, "input", HTMLSelectElement);
    this.#output = find(page, "output", HTMLSelectElement);
    this.#outputField = find(page, "output-choice", HTMLElement);
    this.#meter = find(page, "input-level", HTMLMeterElement);
    this.#note = find(page, "input-note", HTMLElement);
    this.#tryInput = find(page, "input-try", HTMLButtonElement);
    this.#canChoose = canChoose;
    this.#listen(page, choices, { signal });
    signal.addEventListener("abort", () => this.#dialog.close());
  }

  /**
   * @param {import("./dom.js").Page} page
   * @param {Choices} choices
   * @param {{signal: AbortSignal}} options
   */
  #listen(page, choices, options) {
    const open = () => {
      this.#dialog.showModal();
      // Not by `autofocus`, of which a frame on another site's page complains.
      find(page, "settings-title", HTMLElement).focus({ preventScroll: true });
      choices.opened();
    };
    find(page, "settings-open", HTMLButtonElement).addEventListener("click", open, options);
    find(page, "settings-close", HTMLButtonElement).addEventListener("click", () => this.#dialog.close(), options);
    this.#dialog.addEventListener("close", () => choices.closed(), options);
    for (const way of this.#ways) {
      const choose = () => choices.way(/** @type {import("../preferences.js").Way} */ (way.value));
      way.addEventListener("change", choose, options);
    }
    this.#input.addEventListener("change", () => choices.input(this.#input.value), options);
    this.#output.addEventListener("change", () => choices.output(this.#output.value), options);
    this.#tryInput.addEventListener("click", () => choices.tryInput(), options);
    find(page, "output-try", HTMLButtonElement).addEventListener("click", () => choices.tryOutput(), options);
  }

  /** @param {Model} model */
  render(model) {
    if (!this.#dialog.open) return;
    if (model.sheets.length) {
      this.#dialog.close();
      return;
    }
    for (const way of this.#ways) way.checked = way.value === model.way;
    offer(this.#input, model.devices.inputs, model.chosen.input);
    offer(this.#output, model.devices.outputs, model.chosen.output);
    this.#outputField.hidden = !this.#canChoose;
    write(this.#note, note(model));
    const off = model.call.microphone === "off";
    this.#tryInput.disabled = !off;
    if (off) this.#meter.value = this.#level = 0;
  }

  /** @param {number} level root mean square, 0…1, of 20 ms */
  level(level) {
    if (!this.#dialog.open) return;
    this.#level = Math.max(toSight(level), this.#level * FALL);
    this.#meter.value = this.#level;
  }
}
