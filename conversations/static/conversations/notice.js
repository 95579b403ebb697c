/** The one thing to tell the caller now, and what a press can do about it. Pure. */

import { explain, troubleText } from "./problems.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./text.js").TextKey} TextKey
 * @typedef {import("./types.js").Deed} Deed
 * @typedef {object} Notice
 * @property {"calm" | "problem"} tone
 * @property {TextKey} text
 * @property {string} detail the server's own words
 * @property {string} ref
 * @property {number | null} until the moment that is counted down to
 * @property {Deed | null} deed
 * @property {TextKey | null} label of the press
 */

/**
 * @param {TextKey} text
 * @param {Partial<Notice>} more
 * @returns {Notice}
 */
function notice(text, more) {
  const deed = more.deed ?? null;
  const label = deed ? /** @type {TextKey} */ (`deed.${deed}`) : null;
  return { tone: "problem", text, detail: "", ref: "", until: null, deed, label, ...more };
}

/** @type {Record<string, TextKey>} why the line is waited for, where it was not just lost */
const WAITING = { capacity: "closed.capacity", offline: "hint.offline" };

/**
 * @param {Model} model
 * @returns {Notice | null}
 */
function aboutLink({ call, problem }) {
  if (!problem) return null;
  if (call.link === "reconnecting" || call.link === "connecting") {
    const text = WAITING[problem.code] ?? "hint.reconnecting";
    const way = /** @type {const} */ ({ deed: "reconnect", label: "deed.reconnect_now" });
    return notice(text, { tone: "calm", until: problem.retryAt, ...(call.link === "reconnecting" ? way : {}) });
  }
  const { text, ...way } = explain(problem.code);
  const tone = call.link === "ended" ? "calm" : "problem";
  return notice(text, { tone, ...way, ref: problem.ref, until: problem.retryAt });
}

/**
 * @param {Model} model
 * @returns {Notice | null} the most pressing one
 */
export function noticeOf(model) {
  const link = aboutLink(model);
  if (link) return link;
  if (model.call.link === "written" && !model.trouble) {
    return notice("speech.written", { tone: "calm", deed: "reconnect", label: "deed.retry" });
  }
  if (model.speechRetryAt !== null) return notice("speech.lost", { tone: "calm", until: model.speechRetryAt });
  if (model.microphoneProblem) {
    const again = model.microphoneProblem !== "insecure" && model.microphoneProblem !== "unsupported";
    return notice(`microphone.${model.microphoneProblem}`, { deed: again ? "microphone" : "dismiss" });
  }
  if (model.soundBlocked) return notice("sound.blocked", { tone: "calm", deed: "hear" });
  if (model.trouble) {
    const { code, message, ref } = model.trouble;
    return notice(troubleText(code), { detail: message, ref, deed: "dismiss" });
  }
  if (model.remark) return notice(model.remark.text, { tone: "calm", ...model.remark });
  if (model.endsAt !== null) return notice("conversation.expiring", { tone: "calm", until: model.endsAt });
  return null;
}
