/** A caller's thumb for an answer: shown at once, taken back where the server does not keep it. */

import { ApiError } from "./api.js";

/** @typedef {import("./types.js").Rating} Rating */

/** The newest press of a turn counts. */
export class Ratings {
  #store;
  #send;
  /** @type {Map<number, object>} */
  #newest = new Map();

  /**
   * @param {import("./model.js").Store} store
   * @param {(turn: number, rating: Rating | null) => Promise<void>} send throws ApiError
   */
  constructor(store, send) {
    this.#store = store;
    this.#send = send;
  }

  /**
   * @param {number} turn
   * @param {Rating | null} rating
   */
  async rate(turn, rating) {
    const before = this.#store.model.lines.find((line) => line.turn === turn)?.rating ?? null;
    const mine = {};
    this.#newest.set(turn, mine);
    this.#store.dispatch({ type: "rated", turn, rating });
    try {
      await this.#send(turn, rating);
    } catch (error) {
      if (this.#newest.get(turn) !== mine) return;
      this.#store.dispatch({ type: "rated", turn, rating: before });
      const ref = error instanceof ApiError ? error.ref : "";
      this.#store.dispatch({ type: "trouble", code: "rating", message: "", ref, retryMs: null, about: "rating" });
    }
  }
}
