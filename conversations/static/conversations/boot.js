/** What the server put into the page, and an address without secrets. */

/** @typedef {import("./types.js").Boot} Boot */

/** @returns {Boot} */
export function readBoot() {
  return JSON.parse(document.getElementById("boot")?.textContent ?? "{}");
}

/** A link works once and a phone is private: neither stays in the address, the history or a bookmark. */
export function cleanAddress() {
  const address = new URL(location.href);
  address.searchParams.delete("link");
  address.searchParams.delete("phone");
  history.replaceState(history.state, "", address);
}

/**
 * @param {Boot} boot
 * @returns {import("./api.js").Identity}
 */
export function identityOf({ link, phone }) {
  if (link) return { link };
  return phone ? { phone } : {};
}
