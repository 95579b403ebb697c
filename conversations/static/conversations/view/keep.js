/** What the caller takes along: text on the clipboard, the conversation as a file. */

import { fileName, transcriptText } from "../transcript-file.js";
import { isAnswered } from "../transcript.js";
import { find, make } from "./dom.js";

/** So long a file may take to be fetched from this page's memory. */
const FILE_MS = 60_000;

/**
 * @param {HTMLElement} place where a page may hold a selection
 * @param {string} text
 * @returns {Promise<boolean>} whether it is on the clipboard
 */
export async function copyText(place, text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelection(place, text);
  }
}

/**
 * The old way, for pages that are not secure and frames that may not write to the clipboard.
 * @param {HTMLElement} place
 * @param {string} text
 */
function copySelection(place, text) {
  const root = /** @type {Document | ShadowRoot} */ (place.getRootNode());
  const focused = root.activeElement;
  const box = make("textarea", "visually-hidden");
  box.value = text;
  place.append(box);
  box.select();
  const copied = document.execCommand("copy");
  box.remove();
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  return copied;
}

/**
 * @param {string} text
 * @param {string} name
 */
function saveText(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  const link = make("a", "");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), FILE_MS);
}

/** Two buttons below the conversation, as soon as something was answered; `tell` says what came of a press. */
export class KeepView {
  #box;

  /**
   * @param {import("./dom.js").Page} page
   * @param {() => import("../model.js").Model} model
   * @param {(key: "copied" | "copy.failed" | "downloaded") => void} tell
   * @param {AbortSignal} signal of the client's end
   */
  constructor(page, model, tell, signal) {
    this.#box = find(page, "keep", HTMLElement);
    const copy = async () => {
      const copied = await copyText(this.#box, transcriptText(model(), new Date()));
      tell(copied ? "copied" : "copy.failed");
    };
    const download = () => {
      const now = new Date();
      saveText(transcriptText(model(), now), fileName(now));
      tell("downloaded");
    };
    find(page, "keep-copy", HTMLButtonElement).addEventListener("click", () => void copy(), { signal });
    find(page, "keep-download", HTMLButtonElement).addEventListener("click", download, { signal });
  }

  /** @param {import("../model.js").Model} model */
  render({ lines }) {
    this.#box.hidden = !isAnswered(lines);
  }
}
