/** What this browser remembers of how its person talks and hears. */

/**
 * @typedef {"hands_free" | "push"} Way
 * @typedef {{way: Way, input: string, output: string}} Preferences devices by their id, empty for the default ones
 */

const MEMORY = "vocero.talking";

/** @param {unknown} value */
const text = (value) => (typeof value === "string" ? value : "");

/**
 * @param {() => Storage} memory which a browser may forbid
 * @returns {Preferences}
 */
export function recall(memory) {
  let kept;
  try {
    kept = JSON.parse(memory().getItem(MEMORY) ?? "{}");
  } catch {
    kept = null;
  }
  const { way, input, output } = kept ?? {};
  return { way: way === "push" ? "push" : "hands_free", input: text(input), output: text(output) };
}

/**
 * @param {() => Storage} memory
 * @param {Preferences} preferences
 */
export function remember(memory, { way, input, output }) {
  try {
    memory().setItem(MEMORY, JSON.stringify({ way, input, output }));
  } catch {
    // It lasts as long as the page, then.
  }
}
