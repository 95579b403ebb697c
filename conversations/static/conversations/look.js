/** The face of the call: its phase, told apart further where somebody who looks would want to know. Pure. */

import { phaseOf } from "./state.js";

/** @typedef {import("./state.js").Phase | "looking" | "asking" | "written"} Face */

/**
 * @param {import("./model.js").Model} model
 * @returns {Face}
 */
export function faceOf(model) {
  const phase = phaseOf(model.call);
  // Between two tries nothing changes for the caller.
  if (phase === "connecting" && model.call.link === "connecting" && model.problem) return "reconnecting";
  if (phase === "ready" && (model.call.link === "written" || model.microphoneProblem)) return "written";
  if (phase !== "thinking") return phase;
  if (model.sheets.length) return "asking";
  return model.call.turn.tools.length ? "looking" : "thinking";
}
