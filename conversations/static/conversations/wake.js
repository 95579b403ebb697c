/** Notices that the computer slept: a timer comes much too late, and by then every socket may be dead. */

const LOOK_MS = 5_000;
/** A page that nobody sees gets its timers once a minute, awake as it is. */
const LATE_MS = { seen: 20_000, hidden: 90_000 };

/** @typedef {{at: number, hidden: boolean}} Look */

/**
 * @param {Look} last
 * @param {Look} now
 * @returns {boolean} whether it slept in between
 */
export function slept(last, now) {
  const limit = last.hidden || now.hidden ? LATE_MS.hidden : LATE_MS.seen;
  return now.at - last.at - LOOK_MS > limit;
}

/**
 * @param {() => void} onWake
 * @param {AbortSignal} signal of the client's end
 */
export function watchSleep(onWake, signal) {
  const look = () => ({ at: Date.now(), hidden: document.hidden });
  let last = look();
  const timer = setInterval(() => {
    const now = look();
    const woke = slept(last, now);
    last = now;
    if (woke) onWake();
  }, LOOK_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}
