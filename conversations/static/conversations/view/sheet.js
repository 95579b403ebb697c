/** The sheet on which the caller confirms with a tap; speaking and typing stay possible beside it. */

import { isOpen } from "../sheets.js";
import { duration, say, translated } from "../text.js";
import { find, make, write } from "./dom.js";

/**
 * @typedef {import("../types.js").Sheet} Sheet
 * @typedef {(nonce: string, answer: "yes" | "no") => void} Answer
 */

/** Shows the first sheet; only its own two buttons and Escape decide. */
export class SheetView {
  #page;
  #dialog;
  #title;
  #label;
  #summary;
  #time;
  #left;
  #yes;
  #no;
  #draft;
  #answer;
  /** @type {Sheet | null} */
  #shown = null;
  #shownAt = 0;

  /**
   * @param {import("./dom.js").Page} page
   * @param {Answer} answer
   * @param {AbortSignal} signal of the client's end
   */
  constructor(page, answer, signal) {
    this.#page = page;
    this.#dialog = find(page, "sheet", HTMLDialogElement);
    this.#title = find(page, "sheet-title", HTMLElement);
    this.#label = find(page, "sheet-label", HTMLElement);
    this.#summary = find(page, "sheet-summary", HTMLElement);
    this.#time = find(page, "sheet-time", HTMLElement);
    this.#left = find(page, "sheet-left", HTMLProgressElement);
    this.#yes = find(page, "sheet-yes", HTMLButtonElement);
    this.#no = find(page, "sheet-no", HTMLButtonElement);
    this.#draft = find(page, "draft", HTMLTextAreaElement);
    this.#answer = answer;
    this.#yes.addEventListener("click", () => this.#decide("yes"), { signal });
    this.#no.addEventListener("click", () => this.#decide("no"), { signal });
    /** @param {KeyboardEvent} event */
    const escape = (event) => {
      if (event.key === "Escape" && !event.isComposing && this.#shown) this.#decide("no");
    };
    document.addEventListener("keydown", escape, { signal });
  }

  /**
   * @param {import("../model.js").Model} model
   * @param {number} now ms of the page's clock
   */
  render(model, now) {
    const sheet = model.sheets[0] ?? null;
    if (sheet?.nonce !== this.#shown?.nonce) this.#change(sheet, now);
    if (!sheet) return;
    const left = Math.max(0, sheet.endsAt - now);
    const open = isOpen(sheet, this.#shownAt, now);
    this.#yes.disabled = this.#no.disabled = !open;
    this.#left.max = Math.max(1, sheet.endsAt - sheet.openedAt);
    this.#left.value = left;
    write(this.#time, left ? say("sheet.left", { time: duration(left) }) : say("sheet.over"));
  }

  /**
   * @param {Sheet | null} sheet
   * @param {number} now
   */
  #change(sheet, now) {
    this.#shown = sheet;
    this.#shownAt = now;
    if (!sheet) {
      this.#dialog.close();
      return;
    }
    write(this.#label, translated(sheet.label));
    this.#summary.replaceChildren(
      ...sheet.summary.map(({ label, value }) => make("div", "", make("dt", "", label), make("dd", "", make("bdi", "", value)))),
    );
    this.#summary.hidden = !sheet.summary.length;
    // Who is in the middle of a sentence goes on with it; a key meant for it must not press a button.
    const writing = this.#page.activeElement === this.#draft && this.#draft.value !== "";
    if (!this.#dialog.open) this.#dialog.show();
    (writing ? this.#draft : this.#title).focus({ preventScroll: true });
    this.#dialog.scrollTop = 0;
  }

  close() {
    this.#shown = null;
    this.#dialog.close();
  }

  /** @param {"yes" | "no"} answer */
  #decide(answer) {
    const sheet = this.#shown;
    if (sheet && isOpen(sheet, this.#shownAt, Date.now())) this.#answer(sheet.nonce, answer);
  }
}
