/** The tools of the conversation as the caller sees them: label, time, outcome, sources. Pure. */

/**
 * @typedef {import("./types.js").Chip} Chip
 * @typedef {import("./types.js").Happening} Happening
 * @typedef {import("./types.js").PastTool} PastTool
 * @typedef {Readonly<Record<string, Chip>>} Chips by audit id
 */

/** Outcomes that are nobody's fault. */
const CALM = new Set(["cancelled", "stale", "confirmation_declined", "confirmation_timeout", "duplicate_call"]);

/**
 * @param {string} name `list_reports`
 * @returns {string} `List reports`
 */
export function readable(name) {
  const words = name.replaceAll("_", " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/**
 * @param {string} id
 * @param {string} label
 * @returns {Chip}
 */
function fresh(id, label) {
  return {
    id,
    label,
    status: "running",
    startedAt: null,
    durationMs: null,
    progress: null,
    message: "",
    sources: [],
    code: "",
    ref: "",
  };
}

/**
 * @param {Chips} chips
 * @param {string} id
 * @param {string} name
 * @param {Partial<Chip>} change
 * @returns {Chips}
 */
function change(chips, id, name, change) {
  return { ...chips, [id]: { ...(chips[id] ?? fresh(id, readable(name))), ...change } };
}

/**
 * @param {Chips} chips
 * @param {Happening} event
 * @returns {Chips} the same object when nothing changed
 */
export function stepChips(chips, event) {
  switch (event.type) {
    case "tool.started":
      // Told again where the line was lost meanwhile.
      return change(chips, event.id, event.name, {
        label: event.label || readable(event.name),
        startedAt: event.at,
        status: "running",
        code: "",
      });
    case "tool.progress":
      if (chips[event.id]?.status !== "running") return chips;
      return change(chips, event.id, "", { progress: event.progress, message: event.message });
    case "tool.slow":
      if (chips[event.id]?.status !== "running") return chips;
      return change(chips, event.id, "", { message: event.message });
    case "tool.completed": {
      const { durationMs, sources } = event;
      return change(chips, event.id, event.name, { status: "completed", durationMs, sources, message: "" });
    }
    case "tool.failed": {
      const { code, message, ref } = event;
      return change(chips, event.id, event.name, { status: "failed", code, message, ref });
    }
    case "link.lost":
    case "link.ended":
    case "link.failed":
      return abandon(chips);
    default:
      return chips;
  }
}

/**
 * The outcome of a running tool will not be told any more.
 * @param {Chips} chips
 * @returns {Chips}
 */
function abandon(chips) {
  const running = Object.values(chips).filter((chip) => chip.status === "running");
  if (!running.length) return chips;
  const ended = running.map((chip) => [chip.id, { ...chip, status: "failed", code: "connection_lost" }]);
  return { ...chips, ...Object.fromEntries(ended) };
}

/**
 * @param {string} id
 * @param {PastTool} tool
 * @returns {Chip}
 */
export function pastChip(id, tool) {
  return {
    ...fresh(id, tool.label || readable(tool.name)),
    status: tool.status === "completed" ? "completed" : "failed",
    durationMs: tool.duration_ms,
    code: tool.code ?? "",
    sources: (tool.sources ?? []).map(({ title }) => title),
  };
}

/**
 * How a chip looks: a cancelled tool is not an alarm.
 * @param {Chip} chip
 * @returns {"running" | "completed" | "calm" | "failed"}
 */
export const toneOf = (chip) => (chip.status === "failed" && CALM.has(chip.code) ? "calm" : chip.status);
