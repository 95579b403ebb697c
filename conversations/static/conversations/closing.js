/** What a closed socket means and when to try again. Pure. */

/**
 * @typedef {{act: "reconnect"} | {act: "bootstrap"} | {act: "wait", code: string, ms: number}
 *   | {act: "end" | "fail", code: string}} Plan `code` is a key of the problem table
 */

const CAPACITY_MS = 10_000;
const FIRST_MS = 400;
const LAST_MS = 15_000;

const REASONS = new Set(["expired", "idle", "auth_expired", "error", "superseded", "operator", "caller_cleanup"]);

/** @type {Record<number, Plan>} */
const PLANS = {
  1000: { act: "end", code: "normal" },
  4400: { act: "fail", code: "invalid_events" },
  4401: { act: "bootstrap" },
  4404: { act: "bootstrap" },
  4409: { act: "end", code: "taken_over" },
  4413: { act: "fail", code: "too_big" },
  4502: { act: "fail", code: "speech_down" },
};

/**
 * @param {number} closeCode of the WebSocket; one that is not in the table was an accident of the network
 * @param {{code: string, retryMs: number | null}} told the last `error` event before the close
 * @returns {Plan}
 */
export function planFor(closeCode, told) {
  if (closeCode === 4410) return { act: "end", code: REASONS.has(told.code) ? told.code : "normal" };
  if (closeCode === 4429) return { act: "wait", code: "capacity", ms: told.retryMs ?? CAPACITY_MS };
  return PLANS[closeCode] ?? { act: "reconnect" };
}

/**
 * Doubling with jitter, so that many pages do not come back in one moment.
 * @param {number} attempt from 0
 * @param {number} random 0…1
 * @returns {number} ms
 */
export function backOff(attempt, random) {
  const full = Math.min(LAST_MS, FIRST_MS * 2 ** Math.min(attempt, 10));
  return Math.round(full * (0.5 + random / 2));
}
