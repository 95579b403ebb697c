/** What the caller is asked to confirm: one sheet at a time, in the order in which they came. Pure. */

/**
 * @typedef {import("./types.js").Sheet} Sheet
 * @typedef {import("./types.js").Happening} Happening
 * @typedef {readonly Sheet[]} Sheets the first one is shown
 */

/** A tap that was meant for what stood here before must not decide anything. */
const SETTLE_MS = 500;

/** @type {Sheets} */
const NONE = [];

/**
 * @param {Sheets} sheets
 * @param {string} nonce
 * @returns {Sheets}
 */
const without = (sheets, nonce) => sheets.filter((one) => one.nonce !== nonce);

/**
 * @param {Sheets} sheets
 * @param {Happening} event
 * @returns {Sheets} the same object when nothing changed
 */
export function stepSheets(sheets, event) {
  switch (event.type) {
    case "sheet.opened":
      return [...without(sheets, event.sheet.nonce), event.sheet];
    case "sheet.closed":
    case "sheet.answered":
      return sheets.some((one) => one.nonce === event.nonce) ? without(sheets, event.nonce) : sheets;
    case "link.starting":
    case "link.lost":
    case "link.ended":
    case "link.failed":
      return sheets.length ? NONE : sheets;
    default:
      return sheets;
  }
}

/**
 * @param {Sheet} sheet
 * @param {number} shownAt ms of the page's clock
 * @param {number} now
 * @returns {boolean} whether a tap counts
 */
export const isOpen = (sheet, shownAt, now) => now >= shownAt + SETTLE_MS && now < sheet.endsAt;
