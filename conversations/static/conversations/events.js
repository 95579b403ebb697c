/** Server events in, happenings of this page out. Pure; what is unknown or broken means nothing. */

/**
 * @typedef {import("./types.js").Happening} Happening
 * @typedef {Record<string, any>} Wire
 */

/** Races that are nobody's mistake: the answer ended just before it was cancelled or cut. */
const HARMLESS = new Set([
  "response_cancel_not_active",
  "item_truncate_invalid_item_id",
  "conversation_already_has_active_response",
  "input_audio_buffer_commit_empty",
  "no_turn",
]);

/** @param {unknown} value */
const text = (value) => (typeof value === "string" ? value : "");

/** @param {unknown} value */
const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : null);

/** @param {Wire} event */
function piece(event) {
  return {
    response: text(event.response_id) || text(event.item_id),
    item: text(event.item_id),
    content: number(event.content_index) ?? 0,
  };
}

/**
 * @param {Wire} event
 * @returns {Happening | null}
 */
function placed(event) {
  const item = event.item ?? {};
  if (item.type !== "message" || !item.id) return null;
  const parts = Array.isArray(item.content) ? item.content : [];
  const typed = parts.find((/** @type {Wire} */ part) => part?.type === "input_text");
  const after = text(event.previous_item_id) || null;
  return { type: "item.placed", item: text(item.id), role: text(item.role), after, text: text(typed?.text) };
}

/**
 * @param {Wire} event
 * @returns {Happening | null}
 */
function trouble(event) {
  const error = event.error ?? event;
  const code = text(error.code) || text(error.type);
  if (HARMLESS.has(code)) return null;
  return {
    type: "trouble",
    code,
    message: text(error.message),
    ref: text(error.ref) || text(event.ref),
    retryMs: number(error.retry_after_ms),
    about: text(error.event_id),
  };
}

/**
 * @param {Wire} event
 * @returns {Happening}
 */
function completed(event) {
  const sources = Array.isArray(event.sources) ? event.sources : [];
  return {
    type: "tool.completed",
    id: text(event.call_id),
    name: text(event.name),
    durationMs: number(event.duration_ms) ?? 0,
    sources: sources.map((/** @type {Wire} */ source) => text(source?.title)).filter(Boolean),
  };
}

/**
 * @param {Wire} event
 * @returns {Happening}
 */
function progress(event) {
  const done = number(event.progress);
  const total = number(event.total);
  // Vocero's own sign that a tool takes long; a tool that tells of progress tells a number.
  if (done === null && total === null && text(event.message))
    return { type: "tool.slow", id: text(event.call_id), message: text(event.message) };
  const share = done !== null && total ? Math.max(0, Math.min(1, done / total)) : null;
  return { type: "tool.progress", id: text(event.call_id), progress: share, message: text(event.message) };
}

/**
 * A command of the server's; a page does not have to know all of them.
 * @param {Wire} data
 * @param {string} id
 * @param {number} now ms of the page's clock
 * @returns {Happening | null}
 */
function command({ command: name, payload: sent }, id, now) {
  const payload = sent ?? {};
  const nonce = text(payload.nonce);
  if (name !== "close_confirm" && name !== "open_confirm") {
    const known = payload && typeof payload === "object" && !Array.isArray(payload) ? payload : {};
    return text(name) && id ? { type: "action.asked", id, command: name, payload: known } : null;
  }
  if (name === "close_confirm") return { type: "sheet.closed", nonce, reason: text(payload.reason) };
  if (!nonce) return null;
  const listed = Array.isArray(payload.summary) ? payload.summary : [];
  const summary = listed.map((/** @type {Wire} */ one) => ({ label: text(one?.label), value: text(one?.value) }));
  const endsAt = now + (number(payload.expires_in) ?? 0) * 1000;
  return { type: "sheet.opened", sheet: { nonce, label: text(payload.label), summary, openedAt: now, endsAt } };
}

/**
 * A call of a tool that is this page's own.
 * @param {Wire} call
 * @param {number} now ms of the page's clock
 * @returns {Happening | null}
 */
function called(call, now) {
  const [id, name] = [text(call.call_id), text(call.name)];
  return id && name ? { type: "page.called", id, name, arguments: text(call.arguments), at: now } : null;
}

/** @type {Record<string, (event: Wire, now: number) => Happening | null>} */
const READERS = {
  "input_audio_buffer.speech_started": (e) => ({ type: "heard.started", item: text(e.item_id) }),
  "input_audio_buffer.speech_stopped": (e) => ({ type: "heard.stopped", item: text(e.item_id) }),
  "input_audio_buffer.committed": (e) => ({ type: "talk.committed", item: text(e.item_id) }),
  "conversation.item.added": placed,
  "conversation.item.created": placed,
  "conversation.item.done": placed,
  "conversation.item.input_audio_transcription.delta": (e) => {
    return { type: "caller.delta", item: text(e.item_id), content: piece(e).content, text: text(e.delta) };
  },
  "conversation.item.input_audio_transcription.completed": (e) => {
    const heard = text(e.transcript).trim();
    if (!heard) return { type: "caller.unheard", item: text(e.item_id), code: "" };
    return { type: "caller.final", item: text(e.item_id), content: piece(e).content, text: heard };
  },
  "conversation.item.input_audio_transcription.failed": (e) => {
    const code = text(e.error?.code) === "stt_unavailable" ? "stt_unavailable" : "not_understood";
    return { type: "caller.unheard", item: text(e.item_id), code };
  },
  "response.created": (e) => ({ type: "response.started", response: text(e.response?.id) }),
  "response.output_item.added": (e) => {
    if (e.item?.type !== "message") return null;
    return { type: "answer.placed", response: text(e.response_id) || text(e.item.id), item: text(e.item.id) };
  },
  "response.output_item.done": (e, now) => (e.item?.type === "function_call" ? called(e.item, now) : null),
  "response.function_call_arguments.done": called,
  "response.output_text.delta": (e) => ({ type: "answer.delta", ...piece(e), text: text(e.delta) }),
  "response.output_text.done": (e) => ({ type: "answer.final", ...piece(e), text: text(e.text) }),
  "response.output_audio_transcript.delta": (e) => ({ type: "answer.delta", ...piece(e), text: text(e.delta) }),
  "response.output_audio_transcript.done": (e) => ({ type: "answer.final", ...piece(e), text: text(e.transcript) }),
  "response.output_audio.delta": (e) => ({ type: "answer.sound", ...piece(e), audio: text(e.delta) }),
  "response.output_audio.done": (e) => ({ type: "answer.sounded", response: piece(e).response }),
  "response.done": (e) => {
    const { id, status, status_details: details } = e.response ?? {};
    return { type: "response.ended", response: text(id), status: text(status), reason: text(details?.reason) };
  },
  "conversation.item.truncated": (e) => {
    return { type: "answer.truncated", item: text(e.item_id), playedMs: number(e.audio_end_ms) ?? 0 };
  },
  error: trouble,
  "ui-command": (e, now) => (e.label === "rtvi-ai" && e.data ? command(e.data, text(e.id), now) : null),
  "vocero.conversation.ready": (e) => {
    const name = text(e.conversation?.caller?.name);
    return { type: "ready", caller: name ? { name } : null, toolsError: text(e.tools?.error) };
  },
  "vocero.conversation.expiring": (e, now) => ({ type: "expiring", at: now + (number(e.seconds) ?? 0) * 1000 }),
  "vocero.conversation.closed": (e) => ({ type: "closed", reason: text(e.reason) }),
  "vocero.speech.lost": (e, now) => ({ type: "speech.lost", retryAt: now + (number(e.retry_in_ms) ?? 0) }),
  "vocero.speech.restored": () => ({ type: "speech.restored" }),
  "vocero.turn.started": (e) => ({ type: "turn.begun", turn: number(e.turn) ?? 0 }),
  "vocero.tool.started": (e, now) => {
    return { type: "tool.started", id: text(e.call_id), name: text(e.name), label: text(e.label), at: now };
  },
  "vocero.tool.progress": progress,
  "vocero.tool.completed": completed,
  "vocero.tool.failed": (e) => {
    const { name, code, message, ref } = e;
    const words = { name: text(name), code: text(code), message: text(message), ref: text(ref) };
    return { type: "tool.failed", id: text(e.call_id), ...words };
  },
};

/**
 * @param {string} frame one message of the socket
 * @param {number} now ms of the page's clock
 * @returns {Happening | null}
 */
export function readFrame(frame, now) {
  let event;
  try {
    event = JSON.parse(frame);
  } catch {
    return null;
  }
  const reader = event && typeof event.type === "string" && Object.hasOwn(READERS, event.type) && READERS[event.type];
  return reader ? reader(event, now) : null;
}
