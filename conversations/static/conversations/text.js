/** Every sentence that this page says, in one place, so that a catalog can translate them. */

const ENGLISH = {
  "phase.connecting": "Connecting",
  "phase.ready": "Ready",
  "phase.awaiting_microphone": "Allow the microphone",
  "phase.listening": "Listening",
  "phase.hearing": "Hearing you",
  "phase.thinking": "Thinking",
  "phase.looking": "Looking it up",
  "phase.asking": "May I?",
  "phase.speaking": "Speaking",
  "phase.muted": "Muted",
  "phase.reconnecting": "Reconnecting",
  "phase.ended": "Ended",
  "phase.error": "Not connected",

  "hint.connecting": "One moment.",
  "hint.ready": "Press the microphone and ask, or type your question.",
  "hint.awaiting_microphone": "Your browser asks whether Vocero may hear you. Choose Allow.",
  "hint.listening": "Just speak. Press again to stop listening.",
  "hint.hearing": "Go on, I am listening.",
  "hint.thinking": "Press Stop if this is not what you wanted.",
  "hint.looking": "{tool}",
  "hint.asking": "Answer with a tap on the sheet.",
  "hint.speaking": "Speak to interrupt, or press Stop.",
  "hint.speaking_alone": "Press Stop to end the answer.",
  "hint.muted": "Vocero does not hear you now.",
  "hint.reconnecting": "The connection was lost. Your conversation is kept.",
  "hint.ended": "",
  "hint.error": "",

  "microphone.start": "Start talking",
  "microphone.stop": "Stop listening",
  "microphone.cancel": "Stop asking for the microphone",
  "microphone.mute": "Mute",
  "microphone.unmute": "Unmute",

  "microphone.insecure": "The microphone needs a secure address. Open this page with https, or type your question.",
  "microphone.unsupported": "This browser cannot use the microphone here. Try a newer browser, or type your question.",
  "microphone.denied":
    "The browser does not let this page use the microphone. Allow it beside the page’s address, then press the microphone again. You can also type.",
  "microphone.missing": "No microphone was found. Connect one and press the microphone again, or type your question.",
  "microphone.busy":
    "The microphone is in use by something else. Close the other program and press the microphone again, or type your question.",
  "microphone.lost":
    "The microphone was disconnected. Connect it and press the microphone again, or type your question.",

  "problem.login_required": "Vocero does not know who is calling. Open the personal link that you were given.",
  "problem.login_rejected":
    "This caller is not known, so the conversation cannot start. Check the link, or ask for a new one.",
  "problem.unsafe_phone_disabled":
    "Starting by phone number is switched off here. Open the personal link that you were given.",
  "problem.link_expired": "This link has expired. Ask for a new one.",
  "problem.link_used": "This link was already used. Ask for a new one.",
  "problem.invalid": "This address does not work. Check the link, or ask for a new one.",
  "problem.rate_limited": "Vocero is busy right now. It will try again by itself.",
  "problem.backend_contract":
    "The login service gave an answer that cannot be used. If trying again does not help, tell the people who run it.",
  "problem.backend_unavailable": "The login service cannot be reached. Try again in a moment.",
  "problem.forbidden": "The server did not accept this browser. Allow cookies for this page, reload it and try again.",
  "problem.unreachable": "Vocero cannot be reached. Check your connection.",
  "problem.unexpected": "Something went wrong at the server.",

  "closed.normal": "The conversation has ended.",
  "closed.expired": "The time for this conversation is over.",
  "closed.idle": "Nothing was said for a while, so the conversation was ended.",
  "closed.auth_expired": "Your sign-in has expired, so the conversation was ended.",
  "closed.error": "Something went wrong and the conversation was ended.",
  "closed.superseded": "A newer conversation was started in this browser.",
  "closed.operator": "The conversation was ended by an operator.",
  "closed.caller_cleanup": "The conversation was ended at your request.",
  "closed.taken_over": "This conversation goes on in another window.",
  "closed.invalid_events":
    "The connection was closed, because the server did not understand this page. Reload the page.",
  "closed.too_big": "That message was too long for the server.",
  "closed.no_conversation": "The conversation could not be opened again.",
  "closed.capacity": "Vocero is busy right now. It will try again by itself.",
  "closed.speech_down": "The speech service cannot be reached. What you typed is kept.",

  leaving: "Vocero is about to open {path}.",
  "sheet.left": "{time} left",
  "sheet.over": "The time for this is over.",
  "search.label": "Searching the web",

  "trouble.general": "Something went wrong. Please try again.",
  "trouble.not_understood": "That was not understood. Say it again, or type it.",
  "trouble.stt_unavailable": "Speech cannot be understood here at the moment. Please type your question.",
  "trouble.too_late": "That tap came too late.",
  "trouble.history": "Earlier lines of this conversation could not be loaded.",
  "trouble.tools": "The data cannot be reached at the moment, so answers may be missing.",
  "speech.lost": "The speech service was lost. Vocero connects again by itself.",
  "speech.written": "The speech service cannot be reached. Type your questions; the answers come in writing.",
  "sound.blocked": "The browser holds the sound back until you press something.",
  "conversation.expiring": "The time for this conversation is almost over.",
  "conversation.ends_in": "It ends in {time}.",
  "retry.in": "Next try in {time}.",
  "time.seconds": "{n} s",
  "time.minutes": "{n} min",
  ref: "Reference {ref}",

  "deed.retry": "Try again",
  "deed.begin": "New conversation",
  "deed.reconnect": "Continue here",
  "deed.reconnect_now": "Try now",
  "deed.hear": "Play the sound",
  "deed.microphone": "Try the microphone again",
  "deed.dismiss": "Dismiss",

  "line.caller": "You",
  "line.answer": "Vocero",
  "line.cut": "interrupted",
  "line.unheard": "not spoken",
  "line.pending": "…",
  "line.break": "New conversation",
  "delivery.waiting": "Waiting to be sent",
  "delivery.sending": "Sending",
  "delivery.unsure": "May not have arrived",
  "delivery.failed": "Not sent",
  "delivery.again": "Send again",

  "chip.running": "Working",
  "chip.completed": "Done",
  "chip.failed": "Failed",
  "chip.calm": "Cancelled",
  "chip.unknown": "Unknown tool",
  "chip.sources": "From: {titles}",

  "tool.unknown_tool": "There is no such tool.",
  "tool.invalid_arguments": "The question did not fit what the tool needs.",
  "tool.timeout": "It took too long.",
  "tool.forbidden": "You are not allowed to see this.",
  "tool.unauthorized": "Your sign-in has expired.",
  "tool.unavailable": "The data cannot be reached at the moment.",
  "tool.connection_lost": "The connection was lost.",
  "tool.cancelled": "Cancelled.",
  "tool.stale": "No longer needed.",
  "tool.search_failed": "The web cannot be searched at the moment.",
  "tool.search_limited": "That were many searches. Wait a moment.",

  "caller.anonymous": "No caller",

  "tools.title": "What Vocero can do for you ({n})",
};

/** @typedef {keyof typeof ENGLISH} TextKey */

/**
 * @param {TextKey} key
 * @param {Record<string, string | number>} [values] for `{name}` in the sentence
 * @returns {string}
 */
export function say(key, values = {}) {
  return ENGLISH[key].replace(/\{(\w+)\}/g, (_whole, name) => String(values[name] ?? ""));
}

/**
 * @param {string} key
 * @returns {key is TextKey}
 */
export const isText = (key) => Object.hasOwn(ENGLISH, key);

/**
 * @param {number} ms
 * @returns {string} `4 s`, `2 min`
 */
export function duration(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return seconds < 100 ? say("time.seconds", { n: seconds }) : say("time.minutes", { n: Math.round(seconds / 60) });
}
