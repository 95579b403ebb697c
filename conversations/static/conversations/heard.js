/** How much of a text was heard: the server's rule, so that the page shows what the record keeps. Pure. */

/** Nobody speaks faster: where more sound may come, the share of the words is not known. */
const LETTERS_A_SECOND = 25;

/** Where words have no spaces any letter ends one. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u;

/** @param {string} character */
const isWide = (character) => WIDE.test(character) && !/^\p{RI}/u.test(character);

const segmenter = globalThis.Intl?.Segmenter ? new Intl.Segmenter(undefined, { granularity: "grapheme" }) : null;

/**
 * @param {string} text
 * @returns {string[]} what a reader takes for one character each; without a segmenter, code points
 */
const charactersOf = (text) => (segmenter ? Array.from(segmenter.segment(text), (one) => one.segment) : [...text]);

/**
 * @param {string} text
 * @param {number} letters code points, as the server counts them
 * @returns {number} where the last word ends that fits, as an index into the text
 */
export function wordEnd(text, letters) {
  let [index, counted, end, before] = [0, 0, 0, ""];
  for (const character of charactersOf(text)) {
    const breaks = /^\s/.test(character) || isWide(character) || isWide(before);
    if (breaks && counted <= letters) end = index;
    counted += [...character].length;
    if (counted > letters) return end;
    index += character.length;
    before = character;
  }
  return index;
}

/**
 * @param {string} text
 * @param {number} playedMs
 * @param {number} receivedMs
 * @param {boolean} [whole] whether all of its sound has arrived
 * @returns {number} code points of it that were spoken
 */
export function lettersHeard(text, playedMs, receivedMs, whole = true) {
  if (playedMs <= 0 || receivedMs <= 0) return 0;
  const letters = [...text].length * Math.min(playedMs / receivedMs, 1);
  return Math.floor(whole ? letters : Math.min(letters, (playedMs / 1000) * LETTERS_A_SECOND));
}

/**
 * How much of a text was heard, to the end of a word; never a part of a character.
 * @param {string} text
 * @param {number} playedMs
 * @param {number} receivedMs
 * @param {boolean} [whole] whether all of its sound has arrived
 */
export const heardLength = (text, playedMs, receivedMs, whole = true) =>
  text.slice(0, wordEnd(text, lettersHeard(text, playedMs, receivedMs, whole))).trimEnd().length;
