/** The conversation on the screen: final lines in the log, open ones below it. */

import { rateable, sourcesOf } from "../answers.js";
import { split, textOf } from "../transcript.js";
import { say } from "../text.js";
import { drawChip } from "./chip.js";
import { arrange, find, make } from "./dom.js";
import { RatingView } from "./rating.js";

/**
 * @typedef {import("../types.js").Line} Line
 * @typedef {import("../types.js").Chip} Chip
 * @typedef {import("../model.js").Model} Model
 * @typedef {{line: Line, chip: Chip | undefined, second: number, open: boolean, sources: string}} Shown
 * @typedef {{node: HTMLElement, shown: Shown, rating: RatingView | null}} Drawn
 * @typedef {{sendAgain: (id: string) => void, rate: import("./rating.js").Rate, copy: (text: string) => void}} Deeds
 */

/** A reader who scrolled up further than this is left there. */
const NEAR_END_PX = 96;

/**
 * @param {Line} line
 * @returns {Node[]} the words, and where the caller cut them
 */
function words(line) {
  const text = textOf(line);
  const { heard } = line;
  if (!text) return [make("span", "pending", say("line.pending"))];
  if (heard === null) return [document.createTextNode(text)];
  const cut = make("span", "cut", say("line.cut"));
  const rest = text.slice(heard).trim();
  const unheard = [" ", make("span", "visually-hidden", `${say("line.unheard")}: `), make("span", "unheard", rest)];
  return [make("span", "", text.slice(0, heard), " "), cut, make("span", "", ...(rest ? unheard : []))];
}

/**
 * A rating is not drawn with the rest: whoever pressed it keeps the keyboard there.
 * @param {Shown} one
 * @param {Shown} other
 */
function isSame(one, other) {
  const same = one.chip === other.chip && one.second === other.second && one.open === other.open;
  return same && one.sources === other.sources && (one.line === other.line || onlyRated(one.line, other.line));
}

/**
 * @param {Line} one
 * @param {Line} other
 */
const onlyRated = (one, other) =>
  Object.keys(one).every((name) => {
    const key = /** @type {keyof Line} */ (name);
    return key === "rating" || key === "whole" || one[key] === other[key];
  });

/** Draws a line again only when it changed. */
export class LinesView {
  #scroll;
  #log;
  #live;
  #deeds;
  #follows = true;
  /** @type {Map<string, Drawn>} */
  #drawn = new Map();

  /**
   * @param {import("./dom.js").Page} page
   * @param {Deeds} deeds
   * @param {AbortSignal} signal of the client's end
   */
  constructor(page, deeds, signal) {
    this.#scroll = find(page, "scroll", HTMLElement);
    this.#log = find(page, "log", HTMLElement);
    this.#live = find(page, "live", HTMLElement);
    this.#deeds = deeds;
    const follow = () => {
      this.#follows = this.#nearEnd();
    };
    this.#scroll.addEventListener("scroll", follow, { signal });
    // A turned phone or its keyboard changes the height without a scroll.
    const resized = new ResizeObserver(() => {
      if (this.#follows && this.#drawn.size) this.toEnd();
    });
    resized.observe(this.#scroll);
    signal.addEventListener("abort", () => resized.disconnect());
  }

  /**
   * @param {Model} model
   * @param {number} now ms of the page's clock
   */
  render(model, now) {
    const atEnd = this.#nearEnd();
    const { final, live } = split(model.lines);
    const open = model.call.link === "open";
    const sources = sourcesOf(model.lines, model.chips);
    const rated = rateable(model);
    /** @param {Line} line */
    const node = (line) => {
      const chip = model.chips[line.id];
      const second = chip?.status === "running" ? Math.floor(now / 500) : 0;
      const from = (sources.get(line.id) ?? []).join(", ");
      const drawn = this.#node({ line, chip, second, open, sources: from }, now);
      this.#offerRating(drawn, line, rated.has(line.id));
      return drawn.node;
    };
    arrange(this.#log, final.map(node));
    arrange(this.#live, live.map(node));
    const kept = new Set([...final, ...live].map((line) => line.key));
    for (const key of this.#drawn.keys()) if (!kept.has(key)) this.#drawn.delete(key);
    if (atEnd && kept.size) this.#scroll.scrollTop = this.#scroll.scrollHeight;
  }

  toEnd() {
    this.#scroll.scrollTop = this.#scroll.scrollHeight;
  }

  #nearEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroll;
    return scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
  }

  /**
   * @param {Shown} shown
   * @param {number} now
   * @returns {Drawn}
   */
  #node(shown, now) {
    const before = this.#drawn.get(shown.line.key);
    if (before && isSame(before.shown, shown)) return before;
    const drawn = before ?? { node: make("div", ""), shown, rating: null };
    drawn.shown = shown;
    this.#draw(drawn, now);
    this.#drawn.set(shown.line.key, drawn);
    return drawn;
  }

  /**
   * @param {Drawn} drawn
   * @param {number} now
   */
  #draw({ node, shown, rating }, now) {
    const { line, chip, open, sources } = shown;
    node.className = `line ${line.kind}`;
    node.dataset.state = line.settled ? "final" : "open";
    for (const child of [...node.children]) if (child !== rating?.node) child.remove();
    if (line.kind === "tool") {
      node.prepend(...(chip ? [drawChip(chip, now, this.#deeds.copy)] : []));
    } else if (line.kind === "break") {
      node.prepend(make("p", "break-words", say("line.break")));
    } else {
      const who = make("p", "who", say(`line.${line.kind}`));
      const from = sources ? [make("p", "sources", say("chip.sources", { titles: sources }))] : [];
      const said = make("p", "words", ...words(line));
      // Whatever language is spoken, on a page in another one.
      said.dir = "auto";
      node.prepend(who, said, ...from, ...this.#delivery(line, open));
    }
  }

  /**
   * @param {Drawn} drawn
   * @param {Line} line
   * @param {boolean} offered
   */
  #offerRating(drawn, line, offered) {
    if (!offered || line.turn === null) {
      drawn.rating?.node.remove();
      drawn.rating = null;
      return;
    }
    drawn.rating ??= new RatingView(line.turn, this.#deeds.rate);
    drawn.rating.show(line.rating);
    if (drawn.rating.node.parentNode !== drawn.node) drawn.node.append(drawn.rating.node);
  }

  /**
   * @param {Line} line
   * @param {boolean} open
   * @returns {Node[]}
   */
  #delivery({ id, delivery }, open) {
    if (!delivery || delivery === "sending" || (delivery === "waiting" && open)) return [];
    const note = make("p", "delivery", make("span", "", say(`delivery.${delivery}`)));
    if (delivery !== "waiting") {
      const again = make("button", "quiet", say("delivery.again"));
      again.type = "button";
      again.addEventListener("click", () => this.#deeds.sendAgain(id));
      note.append(" ", again);
    }
    return [note];
  }
}
