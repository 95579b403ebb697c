/** Captions: the current sentence in large letters, where the caller wants that. */

import { captionOf } from "../captions.js";
import { say } from "../text.js";
import { find, write } from "./dom.js";

/** Shows; the switch tells what is wanted. */
export class CaptionsView {
  #box;
  #who;
  #text;
  #switch;

  /**
   * @param {import("./dom.js").Page} page
   * @param {(on: boolean) => void} wish
   * @param {AbortSignal} signal of the client's end
   */
  constructor(page, wish, signal) {
    this.#box = find(page, "captions", HTMLElement);
    this.#who = find(page, "caption-who", HTMLElement);
    this.#text = find(page, "caption", HTMLElement);
    this.#switch = find(page, "captions-switch", HTMLButtonElement);
    const turn = () => wish(this.#switch.ariaChecked !== "true");
    this.#switch.addEventListener("click", turn, { signal });
  }

  /** @param {import("../model.js").Model} model */
  render(model) {
    this.#switch.setAttribute("aria-checked", String(model.captions));
    this.#box.hidden = !model.captions;
    if (!model.captions) return;
    const caption = captionOf(model);
    this.#box.dataset.who = caption?.who ?? "";
    write(this.#who, caption ? say(`line.${caption.who}`) : "");
    write(this.#text, caption?.text ?? say("captions.waiting"));
  }
}
