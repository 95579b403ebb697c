/** Follows a conversation: reads its part of the page again and again until it is closed. */

import { morph } from "./morph.js";

const LONGEST = 30_000;
const PATIENCE = 10_000;

/**
 * @param {number} every milliseconds when all is well
 * @param {number} failures in a row
 */
export function wait(every, failures) {
  return Math.min(every * 2 ** failures, Math.max(LONGEST, every));
}

/**
 * What an answer's status asks for: `take` it, `keep` what is there, `stop` for good, or `retry`.
 * @param {number} status 0 for an answer that leads elsewhere, as to the page of the login
 */
export function meaning(status) {
  if (status === 200) return "take";
  if (status === 304) return "keep";
  return [0, 401, 403, 404].includes(status) ? "stop" : "retry";
}

/**
 * @param {{live: HTMLElement, news: HTMLElement, pause: HTMLButtonElement, url: string,
 *          prepare: (fresh: Element) => void}} page
 */
export function follow({ live, news, pause, url, prepare }) {
  let tag = "";
  let failures = 0;
  let paused = false;
  let reading = false;
  let over = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  /** @param {string} words read out once, and only when they change */
  function say(words) {
    if (news.textContent !== words) news.textContent = words;
  }

  /** @param {string} words */
  function stop(words) {
    over = true;
    say(words);
    news.tabIndex = -1;
    if (document.activeElement === pause) news.focus();
    pause.hidden = true;
  }

  function plan() {
    clearTimeout(timer);
    if (over || paused || document.hidden) return;
    timer = setTimeout(read, wait(Number(live.dataset.every), failures));
  }

  /** @param {string} html */
  function take(html) {
    const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("live");
    if (!fresh) return stop("This page no longer fits the server. Reload it.");
    prepare(fresh);
    const before = live.dataset.news;
    morph(live, fresh);
    const now = live.dataset.news ?? "";
    if (!live.dataset.every) stop(now);
    else if (now !== before || failures) say(now);
  }

  /** @param {Response} answer */
  async function heed(answer) {
    switch (meaning(answer.type === "opaqueredirect" ? 0 : answer.status)) {
      case "take":
        tag = answer.headers.get("ETag") ?? "";
        take(await answer.text());
        failures = 0;
        break;
      case "keep":
        if (failures) say(live.dataset.news ?? "");
        failures = 0;
        break;
      case "stop":
        stop("This conversation can no longer be read here. Reload the page.");
        break;
      default:
        throw new TypeError(`the server answered ${answer.status}`);
    }
  }

  async function read() {
    if (reading || over) return;
    reading = true;
    try {
      /** @type {Record<string, string>} */
      const headers = tag ? { "If-None-Match": tag } : {};
      const signal = AbortSignal.timeout(PATIENCE);
      await heed(await fetch(url, { headers, signal, cache: "no-store", redirect: "manual" }));
    } catch {
      failures += 1;
      say("The server does not answer; this is what was known last. Trying again.");
    } finally {
      reading = false;
      plan();
    }
  }

  function goOn() {
    if (document.hidden || paused) clearTimeout(timer);
    else void read();
  }

  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    say(paused ? "Paused: the page stays as it is." : (live.dataset.news ?? ""));
    goOn();
  });
  document.addEventListener("visibilitychange", goOn);
  plan();
}
