/** The tools that this caller may use, read once and kept in this window for their own conversation only. */

/**
 * @typedef {{name: string, description: string}} ListedTool
 * @typedef {import("./types.js").Happening} Happening
 * @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">} Memory
 */

const PREFIX = "vocero.tools.";
const KEPT_MS = 300_000;

/** @param {Memory} memory */
function forgetAll(memory) {
  const kept = Array.from({ length: memory.length }, (_, i) => memory.key(i));
  for (const key of kept) if (key?.startsWith(PREFIX)) memory.removeItem(key);
}

/**
 * @param {Memory} memory
 * @param {string} conversation
 * @param {number} now
 * @returns {ListedTool[] | null}
 */
function recall(memory, conversation, now) {
  try {
    const { at, tools } = JSON.parse(memory.getItem(PREFIX + conversation) ?? "{}");
    return Math.abs(now - at) < KEPT_MS && Array.isArray(tools) ? tools : null;
  } catch {
    return null;
  }
}

/** Asks, keeps and forgets; `show` is told the tools of whoever is calling now. */
export class Toolbook {
  #read;
  #show;
  #memory;
  #clock;
  #conversation = "";
  #last = "";

  /**
   * @param {() => Promise<ListedTool[]>} read asks the server
   * @param {(tools: ListedTool[]) => void} show
   * @param {Memory} memory of this window
   * @param {() => number} clock in ms
   */
  constructor(read, show, memory, clock = Date.now) {
    this.#read = read;
    this.#show = show;
    this.#memory = memory;
    this.#clock = clock;
  }

  /**
   * @param {Happening} event
   * @returns {Promise<void>} once nothing more comes of it
   */
  async notice(event) {
    if (event.type === "conversation.begun") await this.#open(event.conversation.id);
    // A conversation that another window had comes back without beginning again.
    if (event.type === "link.ready" && !this.#conversation && this.#last) await this.#open(this.#last);
    if (event.type === "link.ended" || event.type === "link.failed") this.#close(this.#last);
    if (event.type === "link.starting" && event.newCaller) this.#close("");
  }

  /** @param {string} last */
  #close(last) {
    this.#conversation = "";
    this.#last = last;
    forgetAll(this.#memory);
    this.#show([]);
  }

  /** @param {string} conversation */
  async #open(conversation) {
    this.#conversation = this.#last = conversation;
    const kept = recall(this.#memory, conversation, this.#clock());
    if (kept) return this.#show(kept);
    forgetAll(this.#memory);
    this.#show([]);
    const tools = await this.#read().catch(() => null);
    if (!tools || this.#conversation !== conversation) return;
    const plain = tools.map(({ name, description }) => ({ name, description }));
    this.#keep(conversation, plain);
    this.#show(plain);
  }

  /**
   * @param {string} conversation
   * @param {ListedTool[]} tools
   */
  #keep(conversation, tools) {
    try {
      this.#memory.setItem(PREFIX + conversation, JSON.stringify({ at: this.#clock(), tools }));
    } catch {
      // A full or forbidden memory costs the next page one request.
    }
  }
}
