/** The conversation on the screen: final lines in the log, open ones below it. */

import { split, textOf } from "../transcript.js";
import { say } from "../text.js";
import { drawChip } from "./chip.js";
import { arrange, find, make } from "./dom.js";

/**
 * @typedef {import("../types.js").Line} Line
 * @typedef {import("../types.js").Chip} Chip
 * @typedef {import("../model.js").Model} Model
 * @typedef {{node: HTMLElement, line: Line, chip: Chip | undefined, second: number, open: boolean}} Drawn
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

/** Draws a line again only when it changed. */
export class LinesView {
  #scroll;
  #log;
  #live;
  #sendAgain;
  #follows = true;
  /** @type {Map<string, Drawn>} */
  #drawn = new Map();

  /**
   * @param {import("./dom.js").Page} page
   * @param {(id: string) => void} sendAgain
   * @param {AbortSignal} signal of the client's end
   */
  constructor(page, sendAgain, signal) {
    this.#scroll = find(page, "scroll", HTMLElement);
    this.#log = find(page, "log", HTMLElement);
    this.#live = find(page, "live", HTMLElement);
    this.#sendAgain = sendAgain;
    const follow = () => {
      this.#follows = this.#nearEnd();
    };
    this.#scroll.addEventListener("scroll", follow, { signal });
    // A turned phone or its keyboard changes the height without a scroll.
    const resized = new ResizeObserver(() => {
      if (this.#follows) this.toEnd();
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
    /** @param {Line} line */
    const node = (line) => this.#node(line, model.chips[line.id], open, now);
    arrange(this.#log, final.map(node));
    arrange(this.#live, live.map(node));
    const kept = new Set([...final, ...live].map((line) => line.id));
    for (const id of this.#drawn.keys()) if (!kept.has(id)) this.#drawn.delete(id);
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
   * @param {Line} line
   * @param {Chip | undefined} chip
   * @param {boolean} open
   * @param {number} now
   */
  #node(line, chip, open, now) {
    const second = chip?.status === "running" ? Math.floor(now / 500) : 0;
    const before = this.#drawn.get(line.id);
    const same = before?.line === line && before.chip === chip && before.second === second && before.open === open;
    if (before && same) return before.node;
    const node = before?.node ?? make("div", "");
    this.#draw(node, line, chip, open, now);
    this.#drawn.set(line.id, { node, line, chip, second, open });
    return node;
  }

  /**
   * @param {HTMLElement} node
   * @param {Line} line
   * @param {Chip | undefined} chip
   * @param {boolean} open
   * @param {number} now
   */
  #draw(node, line, chip, open, now) {
    node.className = `line ${line.kind}`;
    node.dataset.state = line.settled ? "final" : "open";
    if (line.kind === "tool") {
      node.replaceChildren(...(chip ? [drawChip(chip, now)] : []));
    } else if (line.kind === "break") {
      node.replaceChildren(make("p", "break-words", say("line.break")));
    } else {
      const who = make("p", "who", say(`line.${line.kind}`));
      node.replaceChildren(who, make("p", "words", ...words(line)), ...this.#delivery(line, open));
    }
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
      again.addEventListener("click", () => this.#sendAgain(id));
      note.append(" ", again);
    }
    return [note];
  }
}
