/** `<vocero-assistant>`: the client as an element of another site's page, in a shadow of its own. */

import { ApiError } from "../api.js";
import { mount } from "../client.js";
import { guest } from "../server.js";
import { speak } from "../text.js";

/**
 * @typedef {object} Panel what `/embed/panel` gives
 * @property {string} language
 * @property {"ltr" | "rtl"} direction
 * @property {string} html
 * @property {string[]} styles
 * @property {{open: string}} words
 * @property {import("../types.js").Boot} boot
 */

const PATIENCE_MS = 30_000;

/**
 * @param {string} base
 * @param {string} path
 */
const from = (base, path) => new URL(path, base).href;

/**
 * @param {string} url
 * @param {RequestInit} options
 * @param {AbortSignal} signal
 * @returns {Promise<any>} the JSON body
 */
async function fetched(url, options, signal) {
  const limits = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const response = await fetch(url, { cache: "no-cache", ...options, signal: limits }).catch(() => null);
  if (!response) throw new ApiError("unreachable");
  if (!response.ok) throw new ApiError("host_refused", { status: response.status });
  return response.json();
}

/**
 * A style sheet, and when it is there; a panel without one of them is better than none.
 * @param {string} href
 * @returns {[HTMLLinkElement, Promise<void>]}
 */
function sheet(href) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  const loaded = new Promise((/** @type {(value: void) => void} */ resolve) => {
    link.onload = link.onerror = () => resolve();
  });
  link.href = href;
  return [link, loaded];
}

/**
 * Attributes: `base` (address of the server; where this module came from), `token-url` (of the site's own server,
 * asked with POST, which answers what `/v1/realtime/client_secrets` gave it), `language`, `theme` (`light` or
 * `dark`), `autostart`. Events: `vocero-open`, `vocero-close`, and for each command of a brain the cancelable
 * `vocero-command` with `{command, payload}`; one that is canceled was done by the page.
 */
export class VoceroAssistant extends HTMLElement {
  static observedAttributes = ["base", "token-url", "language"];

  /** @type {AbortController | null} of everything that one connection to a page began */
  #life = null;
  /** @type {Panel | null} */
  #panel = null;
  #opens = false;
  #shadow = this.attachShadow({ mode: "open" });

  connectedCallback() {
    this.#begin();
  }

  disconnectedCallback() {
    this.#end();
  }

  /**
   * @param {string} _name
   * @param {string | null} before
   * @param {string | null} after
   */
  attributeChangedCallback(_name, before, after) {
    if (!this.isConnected || before === after || !this.#life) return;
    this.#end();
    this.#begin();
  }

  /** Where the server is. */
  get base() {
    return new URL(this.getAttribute("base") || import.meta.url, document.baseURI).href;
  }

  /** Opens the conversation, as a press on the element's button does. */
  async open() {
    const life = this.#life;
    if (!life || !this.#panel || this.#opens) return;
    this.#opens = true;
    const { html, styles, boot, language } = this.#panel;
    const loading = styles.map((path) => sheet(from(this.base, path)));
    const parsed = new DOMParser().parseFromString(html, "text/html");
    for (const picture of parsed.querySelectorAll("img")) {
      picture.src = from(this.base, picture.getAttribute("src") ?? "");
    }
    const client = document.createElement("div");
    client.id = client.className = "client";
    Object.assign(client.dataset, { phase: "connecting", face: "connecting", microphone: "off", fresh: "true" });
    client.append(...parsed.body.childNodes);
    client.hidden = true;
    this.#shadow.replaceChildren(...loading.map(([link]) => link), client);
    await Promise.all(loading.map(([, loaded]) => loaded));
    if (life.signal.aborted) return;
    client.hidden = false;
    speak(boot.catalog, boot.language);
    const server = guest(this.base, () => this.#admitted(life.signal), language);
    const here = { ...boot, worklets: this.#worklets(boot.worklets) };
    const mounted = mount(this.#shadow, here, { server, perform: (asked) => this.#perform(asked) });
    life.signal.addEventListener("abort", () => mounted.close());
    this.#shadow.getElementById("draft")?.focus({ preventScroll: true });
    this.dispatchEvent(new CustomEvent("vocero-open"));
  }

  /** Ends the conversation's connection and shows the button again. */
  close() {
    if (!this.#life) return;
    this.#end();
    this.#begin();
  }

  #begin() {
    const life = new AbortController();
    this.#life = life;
    void this.#load(life.signal);
  }

  #end() {
    this.#life?.abort();
    this.#life = null;
    this.#panel = null;
    this.#shadow.replaceChildren();
    if (this.#opens) this.dispatchEvent(new CustomEvent("vocero-close"));
    this.#opens = false;
  }

  /** @param {AbortSignal} signal */
  async #load(signal) {
    const url = new URL("/embed/panel", this.base);
    const language = this.getAttribute("language");
    if (language) url.searchParams.set("language", language);
    try {
      const panel = await fetched(url.href, { credentials: "omit" }, signal);
      if (signal.aborted) return;
      this.#panel = panel;
      this.#offer(panel);
      if (this.hasAttribute("autostart")) await this.open();
    } catch (error) {
      if (signal.aborted) return;
      console.error("vocero-assistant: the panel cannot be loaded; is this page's origin in S2S_EMBED_ORIGINS?", error);
    }
  }

  /** @param {Panel} panel */
  #offer({ language, direction, words, styles }) {
    this.lang = language;
    this.dir = direction;
    const button = document.createElement("button");
    button.id = "open";
    button.type = "button";
    button.className = "launcher";
    button.textContent = words.open;
    button.addEventListener("click", () => void this.open());
    this.#shadow.replaceChildren(...styles.map((path) => sheet(from(this.base, path))[0]), button);
  }

  /**
   * @param {AbortSignal} signal
   * @returns {Promise<{value: string, conversation: import("../types.js").Conversation}>}
   */
  async #admitted(signal) {
    const address = this.getAttribute("token-url");
    if (!address) throw new ApiError("host_refused");
    const url = new URL(address, document.baseURI).href;
    const headers = { Accept: "application/json" };
    return fetched(url, { method: "POST", headers, credentials: "same-origin" }, signal);
  }

  /** @param {{capture: string, playback: string}} paths */
  #worklets({ capture, playback }) {
    return { capture: from(this.base, capture), playback: from(this.base, playback) };
  }

  /**
   * @param {{command: string, payload: Record<string, unknown>}} asked
   * @returns {boolean} whether the page did it
   */
  #perform({ command, payload }) {
    const told = { detail: { command, payload }, cancelable: true, bubbles: true, composed: true };
    return !this.dispatchEvent(new CustomEvent("vocero-command", told));
  }
}

if (!customElements.get("vocero-assistant")) customElements.define("vocero-assistant", VoceroAssistant);
