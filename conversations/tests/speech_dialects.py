"""What each kind of service makes of an answer that a test tells in GA's events.

Written from recordings and from reading the services: `Voice` renders, event by event, for one connection.
"""

from conversations.realtime import beta
from conversations.realtime.dialects import ALL, BETA, CLEAR, GA, RETRIEVE, S2S, TRUNCATE

# huggingface/speech-to-speech, all of it and what came before its 1.0.
PIPELINES = tuple(dialect.name for dialect in S2S)
BARE, SENTENCES = PIPELINES[1:], PIPELINES[-1:]
OLD_NAMES = {new: old for old, new in beta.NAMES.items()}
NEWEST, CHUNKS = S2S[0], S2S[-1]
TRANSCRIPT, TEXT, AUDIO = "response.output_audio_transcript", "response.output_text", "response.output_audio"
CALL = "response.function_call_arguments"
SENTENCE = (".", "?", "!", ">>>")
STRUCTURE = ("response.output_item.", "response.content_part.")
ACTIVE, PENDING = "conversation_already_has_active_response", "function_call_output_pending"


def of(name):
    """The voice of a service of that dialect."""
    dialect = ALL[name]
    kinds = {GA: Voice, BETA: BetaVoice, NEWEST: PipelineVoice}
    return kinds.get(dialect, BareVoice)(dialect)


class Voice:
    """GA as OpenAI speaks it, and what all services share. `refusal` is what it calls settings it lacks."""

    refusal = "invalid_value"

    def failure(self, code):
        """What it calls a response that failed for that reason."""
        return code

    def __init__(self, dialect):
        self.dialect = dialect
        self.running = None
        self.asked = False
        self.unanswered = set()

    def tells(self, event):
        """The events that this service sends for one of GA's."""
        kind = event["type"]
        if kind == "response.created":
            self.running = event["response"]["id"]
        if kind == "response.done":
            self.running = None
        if kind == f"{CALL}.done":
            self.unanswered.add(event["call_id"])
        return self.render(event)

    def first_session(self):
        """What the service tells of a new session."""
        (event,) = self.render({"type": "session.created", "session": {"id": "sess_1", "tools": []}})
        return event["session"]

    def hears(self, event):
        """A client's event in GA's words."""
        if event["type"] == "response.create":
            self.asked = True
        if event["type"] == "conversation.item.create":
            self.unanswered.discard(event["item"].get("call_id"))
        return event

    def objects(self, event):
        """The code of the service's complaint about a client's event; empty where it has none."""
        return ""

    @property
    def defers(self):
        """Whether an item is acknowledged only after the answer that runs."""
        return False

    def render(self, event):
        return [self.shaped(event)]

    def shaped(self, event):
        if event["type"] == "session.created":
            whole = {"object": "realtime.session", "type": "realtime", "output_modalities": ["audio"]}
            return {**event, "session": {**whole, **event["session"]}}
        return event


class BetaVoice(Voice):
    """OpenAI's service before GA."""

    def hears(self, event):
        session = event.get("session")
        assert session is None or not {"type", "audio", "output_modalities"} & set(session), session
        return super().hears(beta.to_ga(event))

    def render(self, event):
        kind = event["type"]
        if kind == "conversation.item.done":
            return []
        name = OLD_NAMES.get(kind, "conversation.item.created" if kind == "conversation.item.added" else kind)
        told = {**beta.from_ga(event), "type": name}
        if kind.startswith("session.") and isinstance(told["session"], dict):
            told["session"] = {
                "input_audio_format": "pcm16",
                "modalities": ["text", "audio"],
                **told["session"],
            }
            told["session"].setdefault("object", "realtime.session")
        return [told]


class PipelineVoice(Voice):
    """huggingface/speech-to-speech 1.1: GA's events, less of them, with nulls and with codes of its own."""

    refusal = "unknown_or_invalid_event"

    def failure(self, code):
        return "response_failed"

    def __init__(self, dialect):
        super().__init__(dialect)
        self.cut = set()
        self.sounds = 0
        self.ours = set()

    @property
    def defers(self):
        return self.running is not None

    def hears(self, event):
        if event["type"] == "conversation.item.create":
            self.ours.add(event["item"].get("id"))
        return super().hears(event)

    def objects(self, event):
        match event["type"]:
            case "response.create" if self.running:
                return ACTIVE
            case "response.create" if self.unanswered:
                return PENDING
            case kind if kind in (CLEAR, RETRIEVE) or (kind == TRUNCATE and self.dialect is not NEWEST):
                return "unknown_or_invalid_event"
        return ""

    def tells(self, event):
        kind = event["type"]
        if kind == "response.done" and event["response"]["id"] in self.cut:
            return []
        if kind == "input_audio_buffer.speech_started" and self.running:
            return [*self._interrupted(), *super().tells(event)]
        return super().tells(event)

    def _interrupted(self):
        """The caller is heard: first the answer ends, then it is said why."""
        response_id = self.running
        details = {"type": "cancelled", "reason": "turn_detected", "error": None}
        response = {"id": response_id, "object": "realtime.response", "status": "cancelled", "output": []}
        told = super().tells({"type": "response.done", "response": {**response, "status_details": details}})
        self.cut.add(response_id)
        return told

    def render(self, event):
        kind = event["type"]
        if kind == f"{CALL}.delta" or kind in ("conversation.item.done", "conversation.item.truncated"):
            return []
        if kind == "conversation.item.added":
            return self._item(event)
        if kind == f"{AUDIO}.delta":
            self.sounds += 1
            return [{**event, "content_index": self.sounds - 1}]
        if kind == "response.created":
            self.sounds, self.asked = 0, False
        if kind == "response.done" and event["response"]["status"] == "failed":
            return [self._error("response_failed"), self._failed(event)]
        return [self.shaped(event)]

    def _item(self, event):
        item = event["item"]
        answers = item.get("role") == "assistant" or item.get("type") == "function_call"
        if answers and item["id"] not in self.ours:
            return []
        nulls = {"object": None, "status": None}
        return [{**event, "type": "conversation.item.created", "item": {**nulls, **item}}]

    def _failed(self, event):
        details = {"type": "failed", "reason": None, "error": {"type": "response_failed", "code": None}}
        return {**event, "response": {**event["response"], "status_details": details}}

    def _error(self, code, event_id=None):
        error = {"type": code, "code": None, "message": "No.", "param": None, "event_id": event_id}
        return {"type": "error", "error": error}

    def shaped(self, event):
        if event["type"] in ("session.created", "session.updated"):
            nulls = dict.fromkeys(
                ("include", "instructions", "model", "output_modalities", "prompt", "tracing")
            )
            session = {**nulls, "type": "realtime", **event["session"], "id": "session_0123456789abcdef"}
            return {**event, "session": session}
        if event["type"] == "error":
            error = event["error"]
            about = error.get("event_id") if self.dialect is NEWEST else None
            return self._error(error.get("code") or error["type"], about)
        return event


class BareVoice(PipelineVoice):
    """The same before 1.0: no items and no parts, at first no announcement and no deltas either."""

    def __init__(self, dialect):
        super().__init__(dialect)
        self.item_id, self.rest, self.unheard = "", "", []

    def render(self, event):
        kind = event["type"]
        if kind.startswith(STRUCTURE) or kind == "input_audio_buffer.committed":
            return []
        if kind == "conversation.item.added" and event["item"]["id"] not in self.ours:
            return []
        if kind == "response.created":
            self.item_id, self.rest, self.unheard = "", "", []
            announced = self.asked or self.dialect.announces
            self.asked = False
            return super().render(event) if announced else []
        if kind == f"{CALL}.done":
            return [{**event, "item_id": self.item_id or event["item_id"]}]
        if kind.startswith((TRANSCRIPT, TEXT)) and kind.endswith(".delta"):
            self.item_id = event.get("item_id", "")
        if kind.startswith(TRANSCRIPT) and not self.dialect.deltas:
            return self._chunks(event)
        if kind == f"{AUDIO}.delta" and self.rest:
            # Words come before their sound.
            self.unheard.append(event)
            return []
        if kind == "response.done":
            response = {**event["response"], "output": None}
            return [*self._last_chunk(), *super().render({**event, "response": response})]
        return super().render(event)

    def _chunks(self, event):
        """Whole sentences or words, each time as the whole text of the part; the last come with the end."""
        if event["type"].endswith(".done"):
            return self._last_chunk()
        self.place = {
            key: event.get(key) for key in ("response_id", "item_id", "content_index", "output_index")
        }
        said = self.rest + event["delta"]
        if not said.endswith(SENTENCE):
            said, _, self.rest = said.rpartition(" ")
        else:
            self.rest = ""
        return self._chunk(said) if said.strip() else []

    def _last_chunk(self):
        rest, self.rest = self.rest, ""
        return self._chunk(rest) if rest.strip() else []

    def _chunk(self, text):
        sounds, self.unheard = self.unheard, []
        chunk = {"type": f"{TRANSCRIPT}.done", **self.place, "transcript": text}
        return [chunk, *(told for sound in sounds for told in super(BareVoice, self).render(sound))]
