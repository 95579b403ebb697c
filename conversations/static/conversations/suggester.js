/** Asks the server what this caller may ask to begin with, once their tools are known. */

/**
 * @typedef {import("./types.js").Happening} Happening
 * @typedef {{questions: string[], labels: Record<string, string>}} Suggested
 */

/** A conversation whose tools are not discovered yet has none; once it is ready it is asked again. */
export class Suggester {
  #read;
  #emit;
  #conversation = "";
  #known = false;

  /**
   * @param {(conversation: string) => Promise<Suggested>} read
   * @param {(event: Happening) => void} emit
   */
  constructor(read, emit) {
    this.#read = read;
    this.#emit = emit;
  }

  /**
   * @param {Happening} event
   * @returns {Promise<void>} once nothing more comes of it
   */
  async notice(event) {
    if (event.type === "link.starting" && event.newCaller) this.#conversation = "";
    if (event.type === "conversation.begun") {
      this.#conversation = event.conversation.id;
      this.#known = false;
      await this.#ask();
    }
    if (event.type === "ready" && !this.#known) await this.#ask();
  }

  async #ask() {
    const conversation = this.#conversation;
    if (!conversation) return;
    // Nobody misses what could not be asked for.
    const found = await this.#read(conversation).catch(() => null);
    if (!found || conversation !== this.#conversation || this.#known) return;
    this.#known = found.questions.length > 0;
    this.#emit({ type: "suggested", ...found });
  }
}
