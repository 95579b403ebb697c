/** How the server is reached and who asks: this browser by its cookie, or a guest by a client secret. */

import { ApiError } from "./api.js";

/**
 * @typedef {import("./types.js").Conversation} Conversation
 * @typedef {import("./types.js").Server} Server
 */

/** What OpenAI's browser clients call the subprotocol that carries a client secret. */
const SECRET_PROTOCOL = "openai-insecure-api-key.";

/**
 * @param {string} name
 * @returns {string}
 */
function cookie(name) {
  const found = document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}

/**
 * @param {string} path
 * @param {string} base
 */
function socketUrl(path, base) {
  const url = new URL(path, base);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url;
}

/**
 * The server that this page came from.
 * @param {string} csrfCookie its name
 * @returns {Server}
 */
export function home(csrfCookie) {
  return {
    url: (path) => path,
    headers: () => ({ "X-CSRFToken": cookie(csrfCookie) }),
    credentials: "same-origin",
    socket(path, conversation) {
      const url = socketUrl(path, location.href);
      url.searchParams.set("conversation", conversation);
      return { url: url.href, protocols: [] };
    },
    open: null,
  };
}

/**
 * A server elsewhere, for a caller whom the site around knows: no cookie goes there.
 * @param {string} base address of the server
 * @param {() => Promise<{value: string, conversation: Conversation}>} ask for a client secret and its conversation
 * @param {string} language that the server is to answer in
 * @returns {Server}
 */
export function guest(base, ask, language) {
  let secret = "";
  return {
    url: (path) => new URL(path, base).href,
    headers: () => ({ Authorization: `Bearer ${secret}`, "Accept-Language": language }),
    credentials: "omit",
    socket(path) {
      const url = socketUrl(path, base);
      url.searchParams.set("events", "vocero");
      return { url: url.href, protocols: ["realtime", SECRET_PROTOCOL + secret] };
    },
    async open() {
      const { value, conversation } = await ask();
      if (typeof value !== "string" || !conversation?.id) throw new ApiError("host_refused");
      secret = value;
      return conversation;
    },
  };
}
