/** What a brain asks of the screen besides sheets: a word, a place to look at, a page to go to. Pure. */

/**
 * What the page does about a command; `missing` and `unknown` are nothing, said to who asked.
 * @typedef {{act: "toast", text: string} | {act: "highlight", target: string} | {act: "navigate", path: string}
 *   | {act: "refused"} | {act: "unknown"}} Deed
 * @typedef {"done" | "refused" | "unknown" | "missing" | "stayed"} Outcome
 */

const LONGEST_TEXT = 300;
const LONGEST_PATH = 2000;

/**
 * @param {unknown} value
 * @param {number} longest
 * @returns {string} empty for what is none, or too long to be meant
 */
const text = (value, longest) => (typeof value === "string" && value.length <= longest ? value.trim() : "");

/**
 * @param {unknown} wanted
 * @param {string} origin of this page
 * @returns {string} a path of this very site, empty for anything else
 */
function ownPath(wanted, origin) {
  const path = text(wanted, LONGEST_PATH);
  // Browsers read a backslash as a slash, and leave out tabs and line ends.
  if (!path.startsWith("/") || /[\\\u0000-\u001f]/.test(path)) return "";
  const url = URL.canParse(path, origin) ? new URL(path, origin) : null;
  return url && url.origin === origin ? url.pathname + url.search + url.hash : "";
}

/**
 * @param {string} command
 * @param {Record<string, unknown>} payload
 * @param {string} origin
 * @returns {Deed}
 */
export function deedOf(command, payload, origin) {
  if (command === "toast") {
    const words = text(payload.text, LONGEST_TEXT);
    return words ? { act: "toast", text: words } : { act: "refused" };
  }
  if (command === "highlight") {
    const target = text(payload.id, LONGEST_TEXT);
    return target ? { act: "highlight", target } : { act: "refused" };
  }
  if (command === "navigate") {
    const path = ownPath(payload.path, origin);
    return path ? { act: "navigate", path } : { act: "refused" };
  }
  return { act: "unknown" };
}
