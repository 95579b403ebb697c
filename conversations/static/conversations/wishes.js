/** What the person wishes of this page, kept in this browser. */

const CAPTIONS = "vocero.captions";

/**
 * @param {() => Storage} memory reading it may be forbidden
 * @returns {boolean} off until somebody switches them on
 */
export function wantsCaptions(memory) {
  try {
    return memory().getItem(CAPTIONS) === "on";
  } catch {
    return false;
  }
}

/**
 * @param {() => Storage} memory
 * @param {boolean} on
 */
export function keepCaptions(memory, on) {
  try {
    memory().setItem(CAPTIONS, on ? "on" : "off");
  } catch {
    // Without a memory it holds for this page.
  }
}
