/** A brain's actions on the screen: a toast, something pointed at, a page that is gone to after a warning. */

import { deedOf } from "../actions.js";
import { say } from "../text.js";
import { find, write } from "./dom.js";

/**
 * @typedef {import("../actions.js").Outcome} Outcome
 * @typedef {object} Asked
 * @property {string} id
 * @property {string} command
 * @property {Record<string, unknown>} payload
 */

const TOAST_MS = 6_000;
const POINTED_MS = 5_000;
/** So long the notice stands before the page goes. */
const LEAVE_MS = 5_000;

/** Does what it is asked, and tells how each ended. */
export class ActionsView {
  #page;
  #toast;
  #told;
  #leaving;
  #leavingText;
  #report;
  #go;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #toastEnds;
  /** @type {{asked: Asked, path: string, timer: ReturnType<typeof setTimeout>} | null} */
  #pending = null;

  /**
   * @param {import("./dom.js").Page} page
   * @param {(asked: Asked, outcome: Outcome) => void} report
   * @param {(path: string) => void} go
   * @param {AbortSignal} signal of the client's end
   */
  constructor(page, report, go, signal) {
    this.#page = page;
    this.#toast = find(page, "toast", HTMLElement);
    // The page has one place that is read out; a toast is said there too.
    this.#told = find(page, "told", HTMLElement);
    this.#leaving = find(page, "leaving", HTMLElement);
    this.#leavingText = find(page, "leaving-text", HTMLElement);
    this.#report = report;
    this.#go = go;
    const [stay, leave] = [find(page, "leaving-stay", HTMLButtonElement), find(page, "leaving-go", HTMLButtonElement)];
    stay.addEventListener("click", () => this.#leave(false), { signal });
    leave.addEventListener("click", () => this.#leave(true), { signal });
    signal.addEventListener("abort", () => this.#leave(false));
  }

  /** @param {Asked} asked */
  perform(asked) {
    const deed = deedOf(asked.command, asked.payload, location.origin);
    if (deed.act === "toast") this.#report(asked, this.#say(deed.text));
    else if (deed.act === "highlight") this.#report(asked, this.#point(deed.target));
    else if (deed.act === "navigate") this.#warn(asked, deed.path);
    else this.#report(asked, deed.act);
  }

  /** @param {string} words of this page's own */
  tell(words) {
    this.#say(words);
  }

  /**
   * @param {string} words
   * @returns {Outcome}
   */
  #say(words) {
    clearTimeout(this.#toastEnds);
    write(this.#toast, words);
    write(this.#told, words);
    this.#toast.hidden = false;
    this.#toastEnds = setTimeout(() => {
      this.#toast.hidden = true;
      write(this.#told, "");
    }, TOAST_MS);
    return "done";
  }

  /**
   * @param {string} target
   * @returns {Outcome}
   */
  #point(target) {
    const element = this.#page.querySelector(`[data-id="${CSS.escape(target)}"]`);
    if (!element) return "missing";
    element.classList.add("pointed");
    element.scrollIntoView({ block: "nearest" });
    setTimeout(() => element.classList.remove("pointed"), POINTED_MS);
    return "done";
  }

  /**
   * @param {Asked} asked
   * @param {string} path
   */
  #warn(asked, path) {
    this.#leave(false);
    write(this.#leavingText, say("leaving", { path }));
    this.#leaving.hidden = false;
    this.#pending = { asked, path, timer: setTimeout(() => this.#leave(true), LEAVE_MS) };
  }

  /** @param {boolean} goes */
  #leave(goes) {
    const pending = this.#pending;
    if (!pending) return;
    this.#pending = null;
    clearTimeout(pending.timer);
    this.#leaving.hidden = true;
    this.#report(pending.asked, goes ? "done" : "stayed");
    if (goes) this.#go(pending.path);
  }
}
