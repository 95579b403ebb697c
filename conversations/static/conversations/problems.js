/** Why something does not work, in words, and what the person can do about it. Pure. */

import { isText } from "./text.js";

/**
 * @typedef {import("./text.js").TextKey} TextKey
 * @typedef {import("./types.js").Deed} Deed
 * @typedef {{text: TextKey, deed: Deed | null, label?: TextKey}} Explanation
 */

/** @type {Record<string, Explanation>} */
const PROBLEMS = {
  login_required: { text: "problem.login_required", deed: null },
  login_rejected: { text: "problem.login_rejected", deed: null },
  unsafe_phone_disabled: { text: "problem.unsafe_phone_disabled", deed: null },
  link_expired: { text: "problem.link_expired", deed: null },
  link_used: { text: "problem.link_used", deed: null },
  invalid: { text: "problem.invalid", deed: null },
  rate_limited: { text: "problem.rate_limited", deed: "retry" },
  backend_contract: { text: "problem.backend_contract", deed: "retry" },
  backend_unavailable: { text: "problem.backend_unavailable", deed: "retry" },
  csrf_failed: { text: "problem.forbidden", deed: "retry" },
  forbidden: { text: "problem.forbidden", deed: "retry" },
  host_refused: { text: "problem.host_refused", deed: "retry" },
  unreachable: { text: "problem.unreachable", deed: "retry" },
  normal: { text: "closed.normal", deed: "begin" },
  expired: { text: "closed.expired", deed: "begin" },
  idle: { text: "closed.idle", deed: "begin" },
  auth_expired: { text: "closed.auth_expired", deed: "begin" },
  error: { text: "closed.error", deed: "begin" },
  superseded: { text: "closed.superseded", deed: "begin" },
  operator: { text: "closed.operator", deed: "begin" },
  caller_cleanup: { text: "closed.caller_cleanup", deed: "begin" },
  taken_over: { text: "closed.taken_over", deed: "reconnect" },
  invalid_events: { text: "closed.invalid_events", deed: "reconnect" },
  too_big: { text: "closed.too_big", deed: "reconnect" },
  no_conversation: { text: "closed.no_conversation", deed: "begin" },
  capacity: { text: "closed.capacity", deed: "reconnect" },
  speech_down: { text: "closed.speech_down", deed: "reconnect", label: "deed.retry" },
};

/** @type {Explanation} */
const UNEXPECTED = { text: "problem.unexpected", deed: "retry" };

/**
 * @param {string} code of a problem body, a close reason or a close code
 * @returns {Explanation}
 */
export const explain = (code) => (Object.hasOwn(PROBLEMS, code) ? PROBLEMS[code] : UNEXPECTED);

/**
 * @param {string} code
 * @returns {TextKey}
 */
export function troubleText(code) {
  const key = `trouble.${code}`;
  return isText(key) ? key : "trouble.general";
}

/**
 * A sentence for a tool that failed: the server's own, else one by code.
 * @param {string} code
 * @returns {TextKey | null}
 */
export function toolText(code) {
  const key = `tool.${code}`;
  return isText(key) ? key : null;
}
