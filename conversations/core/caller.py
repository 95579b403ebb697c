"""The caller's side of a call: what is spoken, written, stopped, played and asked for in the browser."""

from __future__ import annotations

from conversations.core import events as e
from conversations.core.effects import Commit, Effect, Keep, Retrieve, SendItem, Show, Tell
from conversations.core.floor import Floor
from conversations.core.output import NOT_FOUND
from conversations.core.records import TurnTexts
from conversations.core.turns import Turn
from conversations.core.utterances import Push, Utterance

RETRIEVALS = 32


class CallerSide:
    """One method for each event; whatever the caller does next makes old what runs."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._retrieving: dict[str, str] = {}

    # ---- voice

    def speech_started(self, event: e.SpeechStarted, now: float) -> list[Effect]:
        return [Show(event.frame), *self._begin_utterance(event.item_id, now)]

    def speech_stopped(self, event: e.SpeechStopped, now: float) -> list[Effect]:
        effects: list[Effect] = []
        if not self._floor.utterances.is_speaking(event.item_id):
            effects = self._begin_utterance(event.item_id, now)
        utterance = self._floor.utterances.ended(event.item_id, now)
        if utterance.turn is not None and utterance.turn is self._floor.turn:
            utterance.turn.caller_done_at = utterance.ended_at
        return [Show(event.frame), *effects]

    def committed(self, event: e.Committed, now: float) -> list[Effect]:
        """Where the service does not listen for speech, the commit is all that it tells of an utterance."""
        effects, utterances = list[Effect](), self._floor.utterances
        push, utterances.push = utterances.push, None
        if not utterances.is_uncommitted(event.item_id):
            if push is not None and push.turn is not None:
                utterances.began(event.item_id, now).turn = push.turn
            else:
                effects = self._begin_utterance(event.item_id, now)
        utterances.committed(event.item_id, now)
        if push is not None and push.wished is not None:
            effects.extend(self.create_asked(e.CreateAsked(push.wished), now))
        return [self._floor.output.committed(event), *effects]

    def heard(self, event: e.Heard, now: float) -> list[Effect]:
        text = (event.text or "").strip()
        utterance = self._floor.utterances.heard(event.item_id)
        if not text:
            if utterance is not None and event.text is not None:
                utterance.outcome = utterance.outcome or "interrupted"
            return [Show(event.frame)]
        if self._floor.tools.taps.awaited and self._is_said_over(utterance):
            return [Show(event.frame), *self._speak_over(utterance, text, now)]
        return [Show(event.frame), *self._place(utterance, text, now)]

    def _is_said_over(self, utterance: Utterance | None) -> bool:
        """Whether these are words over the open sheet, and not those that led to it."""
        if utterance is None:
            return self._wordless_turn() is None
        return utterance.over_sheet and utterance.turn is None

    def _speak_over(self, utterance: Utterance | None, text: str, now: float) -> list[Effect]:
        """Words over an open sheet decline it, whatever they are, and begin a turn of their own."""
        floor = self._floor
        effects = [*floor.tools.taps.pass_over(floor.turn, now), *floor.interrupt("interrupted", now)]
        wished = utterance.wished if utterance is not None else None
        if utterance is not None:
            utterance.outcome = ""
        effects.extend(self._place(utterance, text, now))
        return effects if wished is None else [*effects, *floor.responses.want(wished)]

    def _begin_utterance(self, item_id: str, now: float) -> list[Effect]:
        if self._floor.tools.taps.awaited:
            # It may be noise, which must not decline anything; it is talked over all the same.
            self._floor.utterances.began(item_id, now).over_sheet = True
            return self._floor.hush(now)
        effects = self._floor.interrupt("interrupted", now)
        self._floor.utterances.began(item_id, now)
        self._floor.responses.welcome()
        return effects

    def _place(self, utterance: Utterance | None, text: str, now: float) -> list[Effect]:
        """The words belong to the utterance's turn, open or closed, or to a new one."""
        floor = self._floor
        turn = utterance.turn if utterance is not None else self._wordless_turn()
        if turn is not None:
            turn.caller_text = text
            return [Keep(TurnTexts(turn.turn_id, caller_text=text))]
        if utterance is not None and (utterance.outcome or floor.turn is not None):
            return floor.note_aside(utterance, utterance.outcome or "interrupted", text, now)[1]
        effects = floor.interrupt("interrupted", now) if floor.turn is not None else []
        floor.responses.welcome()
        turn, opened = floor.open("voice", now)
        turn.caller_text = text
        return [*effects, *opened, Keep(TurnTexts(turn.turn_id, caller_text=text))]

    def _wordless_turn(self) -> Turn | None:
        """The running or the last turn, where the service answered speech that it did not tell of."""
        floor = self._floor
        turn = floor.turn or (floor.past[-1] if floor.past else None)
        return turn if turn is not None and turn.origin == "voice" and not turn.caller_text else None

    # ---- writing and stopping

    def typed(self, event: e.Typed, now: float) -> list[Effect]:
        passed_over = self._floor.tools.taps.pass_over(self._floor.turn, now)
        effects = [*passed_over, *self._floor.interrupt("interrupted", now)]
        turn, opened = self._floor.open("text", now)
        turn.caller_text, turn.caller_done_at = event.text.strip(), now
        item = {**event.item, "id": event.item.get("id") or self._floor.setup.new_id("item")}
        texts = TurnTexts(turn.turn_id, caller_text=turn.caller_text)
        return [*effects, *opened, Keep(texts), SendItem(item, shown=True)]

    def commit_asked(self, _event: e.CommitAsked, _now: float) -> list[Effect]:
        """The service tells of it only after what the client asks for next."""
        self._floor.utterances.push = Push()
        return [Commit()]

    def create_asked(self, event: e.CreateAsked, now: float) -> list[Effect]:
        floor, effects = self._floor, list[Effect]()
        turn, push = floor.turn, floor.utterances.push
        spoken = floor.utterances.open
        if push is not None and turn is not None and (turn.batch or floor.responses.expecting):
            push.wished = event.options
            return []
        if floor.tools.taps.awaited and spoken is not None:
            spoken.wished = event.options
            return []
        if turn is None:
            turn, effects = floor.open("voice" if spoken or push else "text", now)
        if push is not None:
            push.turn = turn
        if turn.batch:
            turn.wished = event.options
            return [*effects, *floor.advance()]
        return effects if floor.responses.expecting else [*effects, *floor.responses.want(event.options)]

    def cancel_asked(self, _event: e.CancelAsked, now: float) -> list[Effect]:
        return self._floor.interrupt("cancelled", now)

    def confirm_answered(self, event: e.ConfirmAnswered, now: float) -> list[Effect]:
        return [*self._floor.tools.taps.decide(self._floor.turn, event, now), *self._floor.advance()]

    def browser_output(self, event: e.BrowserOutput, now: float) -> list[Effect]:
        brought = self._floor.tools.bring(self._floor.turn, event.call_id, event.output, now)
        if brought:
            return [*brought, *self._floor.advance()]
        if self._floor.tools.was_browsers(event.call_id):
            return []  # It was answered for the browser meanwhile.
        code = "forbidden_event"
        return [Tell("error", {"code": code, "message": self._floor.setup.for_caller[code]})]

    # ---- playback

    def truncate_asked(self, event: e.TruncateAsked, now: float) -> list[Effect]:
        key = event.item_id, event.content_index
        turn = self._floor.turn_with(key)
        answer = turn.answer_with(key) if turn is not None else None
        sent = answer.sent_ms(key) if answer is not None else None
        if turn is None or answer is None or not sent:
            return []
        known = answer.played_ms(key)
        heard = min(max(event.audio_end_ms, 0), int(sent), int(sent if known is None else known))
        answer.cut(now)
        answer.played(key, heard, now)
        return [*self._floor.hearing.client_cut(turn, key, heard), *self._corrected(turn)]

    def played(self, event: e.Played, now: float) -> list[Effect]:
        key = event.item_id, event.content_index
        turn = self._floor.turn_with(key)
        answer = turn.answer_with(key) if turn is not None else None
        if turn is None or answer is None:
            return []
        answer.played(key, event.played_ms, now)
        return self._corrected(turn) if answer.is_cut else []

    def _corrected(self, turn: Turn) -> list[Effect]:
        """A turn that is closed already is corrected to what was heard."""
        if turn is self._floor.turn:
            return []
        return [Keep(TurnTexts(turn.turn_id, heard_text=turn.heard()))]

    # ---- questions

    def retrieve_asked(self, event: e.RetrieveAsked, now: float) -> list[Effect]:
        if self._floor.output.is_hidden(event.item_id) or len(self._retrieving) >= RETRIEVALS:
            return [NOT_FOUND]
        event_id = self._floor.setup.new_id("event")
        self._retrieving[event_id] = event.item_id
        return [Retrieve(event.item_id, event_id)]

    def retrieved(self, item_id: str) -> None:
        """The service has answered such a question."""
        asked = [event_id for event_id, wanted in self._retrieving.items() if wanted == item_id]
        for event_id in asked[:1]:
            del self._retrieving[event_id]

    def is_about_retrieval(self, event_id: str) -> bool:
        """Whether a complaint answers such a question; one that names no event is taken for the oldest's."""
        known = event_id or next(iter(self._retrieving), "")
        return self._retrieving.pop(known, None) is not None

    def forget_questions(self) -> list[Effect]:
        """The service that was asked is gone."""
        unanswered: list[Effect] = [NOT_FOUND for _ in self._retrieving]
        self._retrieving.clear()
        return unanswered
