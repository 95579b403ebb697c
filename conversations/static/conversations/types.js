/** The shapes that several modules share; types only. */

/**
 * What the server puts into the page.
 * @typedef {object} Boot
 * @property {string | null} link
 * @property {string | null} phone
 * @property {boolean} unsafe_phone_selector
 * @property {{phone: string, label: string}[]} demo_callers
 * @property {string} demo_badge
 * @property {{capture: string, playback: string}} worklets
 * @property {string} mode where the tools live: `mcp`, `apipilot` or `plain`
 * @property {string} realtime_path
 * @property {boolean} web_search whether this page may search the web
 * @property {boolean} reasoning whether typed questions are answered without a speech service
 * @property {string} csrf_cookie
 * @property {string} language of the page, `es`
 * @property {string[]} [embed_origins] of the pages that may frame this one
 * @property {Record<string, string>} catalog sentences in the page's language by their English ones
 */

/**
 * How the server is reached, and as whom.
 * @typedef {object} Server
 * @property {(path: string) => string} url
 * @property {() => Record<string, string>} headers who asks
 * @property {RequestCredentials} credentials
 * @property {(path: string, conversation: string) => {url: string, protocols: string[]}} socket
 * @property {(() => Promise<Conversation>) | null} open the conversation that somebody else opened for a guest
 */

/**
 * @typedef {object} Conversation the part of the body that the page uses
 * @property {string} id
 * @property {string} state
 * @property {string | null} close_reason
 * @property {{name: string} | null} caller
 *
 * @typedef {object} PastTool
 * @property {string} name
 * @property {string} label
 * @property {string} status
 * @property {string | null} code
 * @property {number | null} duration_ms
 * @property {{title: string}[]} [sources]
 *
 * @typedef {object} PastTurn
 * @property {number} index
 * @property {string | null} caller_text
 * @property {string | null} heard_text
 * @property {string} outcome
 * @property {string} [started_at]
 * @property {Rating | null} [rating]
 * @property {PastTool[]} tools
 *
 * @typedef {"insecure" | "unsupported" | "denied" | "missing" | "busy" | "lost"} MicrophoneProblem
 * @typedef {"retry" | "begin" | "reconnect" | "hear" | "microphone" | "push" | "dismiss"} Deed what a press on a notice does
 */

/**
 * Why the server cannot be talked to: `code` is a key of the problem table.
 * @typedef {{code: string, ref: string, retryAt: number | null}} Problem
 */

/** @typedef {{id: string, label: string}} Device whose label is empty until the browser lets the page hear */

/**
 * One line of the conversation.
 * @typedef {object} Line
 * @property {string} id
 * @property {"caller" | "answer" | "tool" | "break"} kind
 * @property {string[]} parts text by content index
 * @property {boolean} settled nothing changes any more
 * @property {number | null} heard characters of a cut answer that were heard, null while it is whole
 * @property {"waiting" | "sending" | "unsure" | "failed" | null} delivery of a typed message; null once it arrived
 * @property {string | null} response
 * @property {string} key stays the same when the server gives the line an id of its own
 * @property {boolean} whole nothing more of it comes, sound included
 * @property {number | null} turn whose answer it is, null while that is not known
 * @property {Rating | null} rating of the turn
 * @property {number} at ms of the page's clock, 0 while that is not known
 *
 * @typedef {"good" | "bad"} Rating
 */

/**
 * @typedef {object} Chip
 * @property {string} id
 * @property {string} label
 * @property {"running" | "completed" | "failed"} status
 * @property {number | null} startedAt ms of the page's clock
 * @property {number | null} durationMs
 * @property {number | null} progress 0…1
 * @property {string} message
 * @property {string[]} sources
 * @property {string} code
 * @property {string} ref
 */

/**
 * What the caller is asked to confirm.
 * @typedef {object} Sheet
 * @property {string} nonce
 * @property {string} label of the tool
 * @property {{label: string, value: string}[]} summary of what it would do
 * @property {number} openedAt ms of the page's clock
 * @property {number} endsAt
 *
 * @typedef {{title: string, url: string, snippet: string}} PageFound a page of the web
 */

/**
 * Everything that can happen, from the server (see events.js), the devices and the person.
 * @typedef {(
 *   | {type: "link.starting", newCaller: boolean}
 *   | {type: "link.connecting"}
 *   | {type: "link.ready"}
 *   | {type: "link.quiet"}
 *   | {type: "link.lost", retryAt: number, code: string}
 *   | {type: "link.written"}
 *   | {type: "link.failed", problem: Problem}
 *   | {type: "link.ended", problem: Problem}
 *   | {type: "conversation.begun", conversation: Conversation, sameCaller: boolean}
 *   | {type: "conversation.restored", turns: PastTurn[]}
 *   | {type: "microphone.asked"}
 *   | {type: "microphone.opened"}
 *   | {type: "microphone.rested"}
 *   | {type: "microphone.stopped"}
 *   | {type: "microphone.muted"}
 *   | {type: "microphone.unmuted"}
 *   | {type: "microphone.failed", problem: MicrophoneProblem}
 *   | {type: "talk.begun"}
 *   | {type: "talk.ended", asked: boolean}
 *   | {type: "talk.committed", item: string}
 *   | ({type: "preferences.recalled"} & import("./preferences.js").Preferences)
 *   | {type: "way.chosen", way: import("./preferences.js").Way}
 *   | {type: "input.chosen", id: string}
 *   | {type: "output.chosen", id: string}
 *   | {type: "devices.listed", inputs: Device[], outputs: Device[]}
 *   | {type: "remarked", text: import("./text.js").TextKey, detail: string, deed: Deed}
 *   | {type: "heard.started", item: string}
 *   | {type: "heard.stopped", item: string}
 *   | {type: "item.placed", item: string, role: string, after: string | null, text: string}
 *   | {type: "caller.delta", item: string, content: number, text: string}
 *   | {type: "caller.final", item: string, content: number, text: string}
 *   | {type: "caller.unheard", item: string, code: string}
 *   | {type: "response.started", response: string}
 *   | {type: "response.ended", response: string, status: string, reason: string}
 *   | {type: "answer.placed", response: string, item: string}
 *   | {type: "answer.delta", response: string, item: string, content: number, text: string}
 *   | {type: "answer.final", response: string, item: string, content: number, text: string}
 *   | {type: "answer.sound", response: string, item: string, content: number, audio: string}
 *   | {type: "answer.sounded", response: string}
 *   | {type: "answer.cut", item: string, playedMs: number, receivedMs: number}
 *   | {type: "answers.stopped", responses: string[]}
 *   | {type: "answer.truncated", item: string, playedMs: number}
 *   | {type: "turn.begun", turn: number}
 *   | {type: "rated", turn: number, rating: Rating | null}
 *   | {type: "suggested", questions: string[], labels: Record<string, string>}
 *   | {type: "captions.switched", on: boolean}
 *   | {type: "sound.heard", item: string, playedMs: number}
 *   | {type: "sound.playing", playing: boolean}
 *   | {type: "sound.blocked", blocked: boolean}
 *   | {type: "tool.started", id: string, label: string, name: string, at: number}
 *   | {type: "tool.progress", id: string, progress: number | null, message: string}
 *   | {type: "tool.slow", id: string, message: string}
 *   | {type: "tool.completed", id: string, name: string, durationMs: number, sources: string[]}
 *   | {type: "tool.failed", id: string, name: string, code: string, message: string, ref: string}
 *   | {type: "sheet.opened", sheet: Sheet}
 *   | {type: "sheet.closed", nonce: string, reason: string}
 *   | {type: "sheet.answered", nonce: string}
 *   | {type: "action.asked", id: string, command: string, payload: Record<string, unknown>}
 *   | {type: "page.called", id: string, name: string, arguments: string, at: number}
 *   | {type: "typed", id: string, text: string}
 *   | {type: "typed.sent", id: string}
 *   | {type: "typed.failed", id: string}
 *   | {type: "typed.withdrawn", id: string}
 *   | {type: "stopped"}
 *   | {type: "ready", caller: {name: string} | null, toolsError: string}
 *   | {type: "speech.lost", retryAt: number}
 *   | {type: "speech.restored"}
 *   | {type: "expiring", at: number}
 *   | {type: "closed", reason: string}
 *   | {type: "trouble", code: string, message: string, ref: string, retryMs: number | null, about: string}
 *   | {type: "trouble.dismissed"}
 * )} Happening
 */

export {};
