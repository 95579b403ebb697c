/** The client in an `<iframe>`: the page around it hands in a client secret, by a message. */

import { ApiError } from "../api.js";
import { readBoot } from "../boot.js";
import { mount } from "../client.js";
import { guest } from "../server.js";
import { speak } from "../text.js";

const PATIENCE_MS = 30_000;

const boot = readBoot();

/**
 * Asks the page around for a secret. Who that is, is not known yet, so nothing is told but the wish.
 * @returns {Promise<{value: string, conversation: import("../types.js").Conversation}>}
 */
function admitted() {
  return new Promise((resolve, reject) => {
    const ends = new AbortController();
    const timer = setTimeout(() => {
      ends.abort();
      reject(new ApiError("host_refused"));
    }, PATIENCE_MS);
    /** @param {MessageEvent} message */
    const hear = ({ origin, source, data }) => {
      const trusted = source === parent && boot.embed_origins?.includes(origin);
      if (!trusted || data?.type !== "vocero.secret") return;
      clearTimeout(timer);
      ends.abort();
      resolve({ value: data.value, conversation: data.conversation });
    };
    addEventListener("message", hear, { signal: ends.signal });
    parent.postMessage({ type: "vocero.secret.wanted" }, "*");
  });
}

speak(boot.catalog, boot.language);
mount(document, boot, { server: guest(location.origin, admitted, boot.language), perform: () => false });
