/** A thumb up and a thumb down for an answer. */

import { say } from "../text.js";
import { icon, make } from "./dom.js";

/**
 * @typedef {import("../types.js").Rating} Rating
 * @typedef {(turn: number, rating: Rating | null) => void} Rate
 */

/** @type {Rating[]} */
const RATINGS = ["good", "bad"];

/** Two buttons of which at most one is pressed; a second press takes it back. Redrawn in place: focus stays. */
export class RatingView {
  node = make("p", "rating");
  /** @type {Map<Rating, HTMLButtonElement>} */
  #buttons = new Map();

  /**
   * @param {number} turn
   * @param {Rate} rate
   */
  constructor(turn, rate) {
    // In the log, but nothing that was said: it is not to be read out.
    this.node.setAttribute("aria-live", "off");
    for (const rating of RATINGS) {
      const button = make("button", "quiet", icon(rating), make("span", "visually-hidden", say(`rating.${rating}`)));
      button.type = "button";
      button.addEventListener("click", () => rate(turn, button.ariaPressed === "true" ? null : rating));
      this.#buttons.set(rating, button);
      this.node.append(button);
    }
  }

  /** @param {Rating | null} rating */
  show(rating) {
    for (const [one, button] of this.#buttons) button.setAttribute("aria-pressed", String(one === rating));
  }
}
