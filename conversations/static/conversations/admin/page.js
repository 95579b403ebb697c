/** What the operators' pages do by themselves: tell times, and follow a call that goes on. */

import { follow } from "./follow.js";
import { tellTimes, ZONE } from "./times.js";

const KEPT = "vocero.times";
const own = { times: false };

const button = document.getElementById("times");
const zone = document.getElementById("zone");
if (button && zone && ZONE !== "UTC") {
  const tell = () => {
    tellTimes(document, own.times);
    button.setAttribute("aria-pressed", String(own.times));
    button.textContent = own.times ? "Show them in UTC" : "Show them in my time";
    zone.textContent = own.times ? `All times are those of ${ZONE}.` : "All times are UTC.";
  };
  own.times = localStorage.getItem(KEPT) === "own";
  button.hidden = false;
  button.addEventListener("click", () => {
    own.times = !own.times;
    localStorage.setItem(KEPT, own.times ? "own" : "utc");
    tell();
  });
  tell();
} else {
  tellTimes(document, false);
}

const box = document.getElementById("follow");
const live = document.getElementById("live");
const news = document.getElementById("news");
const pause = document.getElementById("pause");
if (box?.dataset.url && live && news && pause instanceof HTMLButtonElement) {
  const prepare = (/** @type {Element} */ fresh) => tellTimes(fresh, own.times);
  follow({ live, news, pause, url: box.dataset.url + location.search, prepare });
}
