/** Every sentence that this page says, in one place, so that a catalog can translate them. */

/**
 * Marks a sentence for the catalog.
 * @type {(sentence: string) => string}
 */
const gettext_noop = (sentence) => sentence;

/** @type {Record<string, string>} the page's language: sentences by their English ones */
let catalog = {};

/** @type {string | undefined} the browser's own where the page names none */
let language;

/**
 * Before anything is said.
 * @param {Record<string, string> | undefined} sentences of Django's JavaScript catalog
 * @param {string} [tongue] `es`, for numbers
 */
export function speak(sentences, tongue) {
  catalog = sentences ?? {};
  language = tongue || undefined;
}

const ENGLISH = {
  "phase.connecting": gettext_noop("Connecting"),
  "phase.ready": gettext_noop("Ready"),
  "phase.awaiting_microphone": gettext_noop("Allow the microphone"),
  "phase.listening": gettext_noop("Listening"),
  "phase.hearing": gettext_noop("Hearing you"),
  "phase.thinking": gettext_noop("Thinking"),
  "phase.looking": gettext_noop("Looking it up"),
  "phase.asking": gettext_noop("May I?"),
  "phase.written": gettext_noop("Type to ask"),
  "phase.speaking": gettext_noop("Speaking"),
  "phase.muted": gettext_noop("Muted"),
  "phase.reconnecting": gettext_noop("Reconnecting"),
  "phase.ended": gettext_noop("Ended"),
  "phase.error": gettext_noop("Not connected"),

  "hint.connecting": gettext_noop("One moment."),
  "hint.ready": gettext_noop("Press the microphone and ask, or type your question."),
  "hint.ready_push": gettext_noop("Hold the microphone or the space bar while you speak, or type your question."),
  "hint.awaiting_microphone": gettext_noop("Your browser asks whether Vocero may hear you. Choose Allow."),
  "hint.listening": gettext_noop("Just speak. Press again to stop listening."),
  "hint.hearing": gettext_noop("Go on, I am listening."),
  "hint.hearing_push": gettext_noop("Let go when you have asked."),
  "hint.thinking": gettext_noop("Press Stop if this is not what you wanted."),
  "hint.asking": gettext_noop("Answer with a tap on the sheet."),
  "hint.written": "",
  "hint.speaking": gettext_noop("Speak to interrupt, or press Stop."),
  "hint.speaking_alone": gettext_noop("Press Stop to end the answer."),
  "hint.speaking_push": gettext_noop("Hold the microphone to interrupt, or press Stop."),
  "hint.muted": gettext_noop("Vocero does not hear you now."),
  "hint.reconnecting": gettext_noop("The connection was lost. Your conversation is kept."),
  "hint.offline": gettext_noop("This device is offline. Your conversation is kept, and goes on when the network is back."),
  "hint.ended": "",
  "hint.error": "",

  "microphone.start": gettext_noop("Start talking"),
  "microphone.stop": gettext_noop("Stop listening"),
  "microphone.cancel": gettext_noop("Stop asking for the microphone"),
  "microphone.hold": gettext_noop("Hold to talk"),
  "microphone.let_go": gettext_noop("Let go to ask"),
  "microphone.mute": gettext_noop("Mute"),
  "microphone.unmute": gettext_noop("Unmute"),

  "microphone.insecure": gettext_noop("The microphone needs a secure address. Open this page with https, or type your question."),
  "microphone.unsupported": gettext_noop("This browser cannot use the microphone here. Try a newer browser, or type your question."),
  "microphone.denied":
    gettext_noop("The browser does not let this page use the microphone. Allow it beside the page’s address, then press the microphone again. You can also type."),
  "microphone.missing": gettext_noop("No microphone was found. Connect one and press the microphone again, or type your question."),
  "microphone.busy":
    gettext_noop("The microphone is in use by something else. Close the other program and press the microphone again, or type your question."),
  "microphone.lost":
    gettext_noop("The microphone was disconnected. Connect it and press the microphone again, or type your question."),

  "problem.login_required": gettext_noop("Vocero does not know who is calling. Open the personal link that you were given."),
  "problem.login_rejected":
    gettext_noop("This caller is not known, so the conversation cannot start. Check the link, or ask for a new one."),
  "problem.unsafe_phone_disabled":
    gettext_noop("Starting by phone number is switched off here. Open the personal link that you were given."),
  "problem.link_expired": gettext_noop("This link has expired. Ask for a new one."),
  "problem.link_used": gettext_noop("This link was already used. Ask for a new one."),
  "problem.invalid": gettext_noop("This address does not work. Check the link, or ask for a new one."),
  "problem.rate_limited": gettext_noop("Vocero is busy right now. It will try again by itself."),
  "problem.backend_contract":
    gettext_noop("The login service gave an answer that cannot be used. If trying again does not help, tell the people who run it."),
  "problem.backend_unavailable": gettext_noop("The login service cannot be reached. Try again in a moment."),
  "problem.forbidden": gettext_noop("The server did not accept this browser. Allow cookies for this page, reload it and try again."),
  "problem.host_refused": gettext_noop(
    "This page could not sign you in to the assistant. Reload it, or tell the people who run it.",
  ),
  "problem.unreachable": gettext_noop("Vocero cannot be reached. Check your connection."),
  "problem.unexpected": gettext_noop("Something went wrong at the server."),

  "closed.normal": gettext_noop("The conversation has ended."),
  "closed.expired": gettext_noop("The time for this conversation is over."),
  "closed.idle": gettext_noop("Nothing was said for a while, so the conversation was ended."),
  "closed.auth_expired": gettext_noop("Your sign-in has expired, so the conversation was ended."),
  "closed.error": gettext_noop("Something went wrong and the conversation was ended."),
  "closed.superseded": gettext_noop("A newer conversation was started in this browser."),
  "closed.operator": gettext_noop("The conversation was ended by an operator."),
  "closed.caller_cleanup": gettext_noop("The conversation was ended at your request."),
  "closed.taken_over": gettext_noop("This conversation goes on in another window."),
  "closed.invalid_events":
    gettext_noop("The connection was closed, because the server did not understand this page. Reload the page."),
  "closed.too_big": gettext_noop("That message was too long for the server."),
  "closed.no_conversation": gettext_noop("The conversation could not be opened again."),
  "closed.capacity": gettext_noop("Vocero is busy right now. It will try again by itself."),
  "closed.speech_down": gettext_noop("The speech service cannot be reached. What you typed is kept."),

  leaving: gettext_noop("Vocero is about to open {path}."),
  "sheet.left": gettext_noop("{time} left"),
  "sheet.over": gettext_noop("The time for this is over."),
  "search.label": gettext_noop("Searching the web"),

  "trouble.general": gettext_noop("Something went wrong. Please try again."),
  "trouble.not_understood": gettext_noop("That was not understood. Say it again, or type it."),
  "trouble.stt_unavailable": gettext_noop("Speech cannot be understood here at the moment. Please type your question."),
  "trouble.too_late": gettext_noop("That tap came too late."),
  "trouble.history": gettext_noop("Earlier lines of this conversation could not be loaded."),
  "trouble.tools": gettext_noop("The data cannot be reached at the moment, so answers may be missing."),
  "talk.again": gettext_noop("The microphone is ready. Hold it again and speak."),
  "talk.short": gettext_noop("Hold the microphone for as long as you speak."),
  "talk.echo":
    gettext_noop("This browser cannot tell your voice from its loudspeaker, so it does not listen while Vocero speaks. Hold to talk instead, or use headphones."),
  "devices.input_gone": gettext_noop("The microphone that you chose is not connected. Vocero hears you through another one."),
  "devices.input_replaced": gettext_noop("The microphone was disconnected. Vocero hears you through another one."),
  "devices.output_gone": gettext_noop("The loudspeaker that you chose is not connected. The sound comes from the default one."),
  "devices.default": gettext_noop("Default of this computer"),
  "devices.unnamed": gettext_noop("Device {n}"),
  "devices.names": gettext_noop("The names appear once the browser lets this page hear you."),
  "devices.muted": gettext_noop("It is muted now."),
  "devices.speak": gettext_noop("Say something: the bar follows your voice. Nothing of it is sent."),
  "devices.live": gettext_noop("The bar follows your voice."),
  "speech.lost": gettext_noop("The speech service was lost. Vocero connects again by itself."),
  "speech.written": gettext_noop("The speech service cannot be reached. Type your questions; the answers come in writing."),
  "sound.blocked": gettext_noop("The browser holds the sound back until you press something."),
  "conversation.expiring": gettext_noop("The time for this conversation is almost over."),
  "conversation.ends_in": gettext_noop("It ends in {time}."),
  "retry.in": gettext_noop("Next try in {time}."),
  "time.seconds": gettext_noop("{n} s"),
  "time.minutes": gettext_noop("{n} min"),
  ref: gettext_noop("Reference {ref}"),

  "deed.retry": gettext_noop("Try again"),
  "deed.begin": gettext_noop("New conversation"),
  "deed.reconnect": gettext_noop("Continue here"),
  "deed.reconnect_now": gettext_noop("Try now"),
  "deed.hear": gettext_noop("Play the sound"),
  "deed.microphone": gettext_noop("Try the microphone again"),
  "deed.push": gettext_noop("Hold to talk"),
  "deed.dismiss": gettext_noop("Dismiss"),

  "line.caller": gettext_noop("You"),
  "line.answer": gettext_noop("Vocero"),
  "line.cut": gettext_noop("interrupted"),
  "line.unheard": gettext_noop("not spoken"),
  "line.pending": "…",
  "line.break": gettext_noop("New conversation"),
  "delivery.waiting": gettext_noop("Waiting to be sent"),
  "delivery.sending": gettext_noop("Sending"),
  "delivery.unsure": gettext_noop("May not have arrived"),
  "delivery.failed": gettext_noop("Not sent"),
  "delivery.again": gettext_noop("Send again"),

  "chip.running": gettext_noop("Working"),
  "chip.completed": gettext_noop("Done"),
  "chip.failed": gettext_noop("Failed"),
  "chip.calm": gettext_noop("Cancelled"),
  "chip.unknown": gettext_noop("Unknown tool"),
  "chip.sources": gettext_noop("From: {titles}"),

  "tool.unknown_tool": gettext_noop("There is no such tool."),
  "tool.invalid_arguments": gettext_noop("The question did not fit what the tool needs."),
  "tool.timeout": gettext_noop("It took too long."),
  "tool.forbidden": gettext_noop("You are not allowed to see this."),
  "tool.unauthorized": gettext_noop("Your sign-in has expired."),
  "tool.unavailable": gettext_noop("The data cannot be reached at the moment."),
  "tool.connection_lost": gettext_noop("The connection was lost."),
  "tool.cancelled": gettext_noop("Cancelled."),
  "tool.stale": gettext_noop("No longer needed."),
  "tool.search_failed": gettext_noop("The web cannot be searched at the moment."),
  "tool.search_limited": gettext_noop("That were many searches. Wait a moment."),

  "rating.good": gettext_noop("Good answer"),
  "rating.bad": gettext_noop("Bad answer"),
  "trouble.rating": gettext_noop("Your rating could not be kept. Please try again."),
  copy: gettext_noop("Copy"),
  copied: gettext_noop("Copied."),
  "copy.failed": gettext_noop("The browser does not allow copying here."),
  downloaded: gettext_noop("The conversation is saved as a text file."),
  "captions.waiting": gettext_noop("What is said appears here."),
  "welcome.suggested": gettext_noop("Say it, type it, or begin with one of these:"),
  "welcome.plain": gettext_noop("Press the microphone and say it, or type it."),
  "welcome.suggested_written": gettext_noop("Type your question, or begin with one of these:"),
  "welcome.written": gettext_noop("Type your question."),

  "caller.anonymous": gettext_noop("No caller"),

  "tools.title": gettext_noop("What Vocero can do for you ({n})"),
};

/** @typedef {keyof typeof ENGLISH} TextKey */

/**
 * @param {TextKey} key
 * @param {Record<string, string | number>} [values] for `{name}` in the sentence
 * @returns {string}
 */
export function say(key, values = {}) {
  return (catalog[ENGLISH[key]] ?? ENGLISH[key]).replace(/\{(\w+)\}/g, (_whole, name) => String(values[name] ?? ""));
}

/**
 * @param {string} sentence of the server, which says it in English
 * @returns {string} the same in the page's language, where that is known
 */
export const translated = (sentence) => (Object.hasOwn(catalog, sentence) ? catalog[sentence] : sentence);

/**
 * @param {number} value
 * @param {number} [digits] behind the point
 * @returns {string} as the page's language writes it
 */
export function number(value, digits = 0) {
  return value.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
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
  if (seconds < 100) return say("time.seconds", { n: number(seconds) });
  return say("time.minutes", { n: number(Math.round(seconds / 60)) });
}
