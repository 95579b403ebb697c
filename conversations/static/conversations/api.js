/** The HTTP side of the server: conversations, and errors as one kind of value. */

/**
 * @typedef {import("./types.js").Conversation} Conversation
 * @typedef {import("./types.js").PastTurn} PastTurn
 */

/**
 * Who is calling; `{}` is whoever this browser was.
 * @typedef {{link: string} | {phone: string} | Record<string, never>} Identity
 */

const PATIENCE_MS = 30_000;
/** Enough of a request's id to find it, and short enough to read out. */
const REF_LENGTH = 8;

/** The server said no, or nothing: `code` is a key of the problem table. */
export class ApiError extends Error {
  /**
   * @param {string} code
   * @param {{status?: number, ref?: string, retryMs?: number | null}} [more]
   */
  constructor(code, { status = 0, ref = "", retryMs = null } = {}) {
    super(code);
    this.code = code;
    this.status = status;
    this.ref = ref;
    this.retryMs = retryMs;
  }
}

/** @type {Record<number, string>} */
const BY_STATUS = { 401: "login_required", 403: "forbidden", 404: "no_conversation", 429: "rate_limited" };

/**
 * @param {Response} response
 * @returns {Promise<ApiError>}
 */
async function errorOf(response) {
  const { status } = response;
  const seconds = Number(response.headers.get("Retry-After"));
  const retryMs = seconds > 0 ? seconds * 1000 : null;
  const body = await response.json().catch(() => ({}));
  const code = typeof body.code === "string" ? body.code : (BY_STATUS[status] ?? "unexpected");
  const ref = typeof body.request_id === "string" ? body.request_id.slice(0, REF_LENGTH) : "";
  return new ApiError(code, { status, ref, retryMs });
}

/**
 * @param {string} url
 * @param {RequestInit} options
 * @returns {Promise<Response>} a good one
 * @throws {ApiError}
 */
async function ask(url, options) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(url, { cache: "no-store", ...options });
  } catch {
    throw new ApiError("unreachable");
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

/** Reads and opens conversations for this browser. */
export class Api {
  #server;

  /** @param {import("./types.js").Server} server */
  constructor(server) {
    this.#server = server;
  }

  /**
   * @param {Identity} identity
   * @returns {Promise<Conversation>} a new one, or this browser's open one
   */
  bootstrap(identity) {
    return this.#server.open ? this.#server.open() : this.#post("/api/conversations", identity);
  }

  /**
   * @returns {Promise<{name: string, description: string}[]>} the bridge's tools that this caller may use
   */
  async tools() {
    const { success, data } = await this.#request("/api/apipilot/tools");
    if (!success) throw new ApiError("unexpected");
    return data.tools;
  }

  /**
   * @param {string} id
   * @returns {Promise<Conversation & {turns?: PastTurn[]}>}
   */
  conversation(id) {
    return this.#request(`/api/conversations/${encodeURIComponent(id)}`);
  }

  /**
   * @param {string} id
   * @returns {Promise<{questions: string[], labels: Record<string, string>}>} what this caller may ask to begin with
   */
  async suggestions(id) {
    const { suggestions, labels } = await this.#request(`/api/conversations/${encodeURIComponent(id)}/suggestions`);
    return { questions: suggestions.map((/** @type {{text: string}} */ { text }) => text), labels };
  }

  /**
   * @param {string} id
   * @param {number} turn
   * @param {import("./types.js").Rating | null} rating
   * @returns {Promise<void>}
   */
  async rate(id, turn, rating) {
    const path = `/api/conversations/${encodeURIComponent(id)}/turns/${turn}/rating`;
    const signal = AbortSignal.timeout(PATIENCE_MS);
    await this.#ask(path, { method: "PUT", headers: this.#headers(), body: JSON.stringify({ rating }), signal });
  }

  /**
   * @param {string} query
   * @param {AbortSignal} signal
   * @returns {Promise<import("./types.js").PageFound[]>}
   */
  async search(query, signal) {
    const { results } = await this.#post("/api/search", { query }, { signal });
    return Array.isArray(results) ? results : [];
  }

  /**
   * @param {string} conversation
   * @param {string} text
   * @param {AbortSignal} signal
   * @returns {Promise<ReadableStream<Uint8Array>>} the answer as server-sent events
   * @throws {ApiError}
   */
  async reason(conversation, text, signal) {
    const headers = { ...this.#headers(), "X-Vocero-Conversation": conversation, Accept: "text/event-stream" };
    const options = { method: "POST", headers, body: JSON.stringify({ text }), signal };
    const response = await this.#ask("/api/reasoning", options);
    if (!response.body) throw new ApiError("unexpected", { status: response.status });
    return response.body;
  }

  /**
   * @param {string} conversation
   * @param {object} message in RTVI's envelope
   * @returns {Promise<void>}
   */
  async message(conversation, message) {
    const options = { method: "POST", headers: this.#headers(), body: JSON.stringify(message) };
    await this.#ask(`/api/conversations/${encodeURIComponent(conversation)}/messages`, options);
  }

  #headers() {
    return { "Content-Type": "application/json", ...this.#server.headers() };
  }

  /**
   * @param {string} path
   * @param {RequestInit} options
   * @returns {Promise<Response>}
   */
  #ask(path, options) {
    const { credentials } = this.#server;
    return ask(this.#server.url(path), { credentials, headers: this.#server.headers(), ...options });
  }

  /**
   * @param {string} path
   * @param {RequestInit} [options]
   * @returns {Promise<any>} the JSON body
   * @throws {ApiError}
   */
  async #request(path, options = {}) {
    const response = await this.#ask(path, { signal: AbortSignal.timeout(PATIENCE_MS), ...options });
    return response.json().catch(() => {
      throw new ApiError("unexpected", { status: response.status });
    });
  }

  /**
   * @param {string} path
   * @param {object} body
   * @param {RequestInit} [options]
   * @returns {Promise<any>}
   */
  #post(path, body, options = {}) {
    return this.#request(path, { method: "POST", headers: this.#headers(), body: JSON.stringify(body), ...options });
  }
}
