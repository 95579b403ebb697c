"""What watchers keep in mind: the open turn, the calls that were told, and which answers are stale."""

from collections import Counter

from conversations.core import events as e
from conversations.core.records import CallOpened, TurnClosed, TurnOpened, UpstreamClosed, UpstreamOpened
from conversations.core.responses import CANCEL_TIMER
from conversations.tests.machine.story import (
    Begun,
    Delivered,
    Fed,
    Missed,
    Put,
    Said,
    Shown,
    Unwritten,
    Wrote,
)

SPEECH_STARTED = "input_audio_buffer.speech_started"
SPEECH_STOPPED = "input_audio_buffer.speech_stopped"


class Turns:
    """The turns of one call: which has the floor, which have ended, and with `calls` the rows of each."""

    def __init__(self):
        self.opened, self.ends = {}, {}
        self.calls = {}
        self._new = set()

    @property
    def open(self):
        return [turn_id for turn_id in self.opened if turn_id not in self.ends]

    @property
    def current(self):
        """The id of the turn that has the floor, or an empty one."""
        return self.open[-1] if self.open else ""

    def see(self, thing):
        """Takes note; whether a turn that had the floor came to a bad end, so that its work is stale."""
        match thing:
            case Fed():
                self._new.clear()
            case Wrote(TurnOpened(turn_id) as record):
                self.opened[turn_id] = record
                self._new.add(turn_id)
            case Wrote(TurnClosed(turn_id) as record):
                self.ends[turn_id] = record
                return record.outcome != "done" and turn_id not in self._new
            case Wrote(CallOpened(call_id) as record) | Unwritten(CallOpened(call_id) as record):
                self.calls[call_id] = record
        return False

    def calls_of(self, turn_id):
        return [record for record in self.calls.values() if record.turn_id == turn_id]


class Sheets:
    """The sheets that the browser was told to show: the call of each, which are open, and what was tapped."""

    def __init__(self):
        self.calls, self.open, self.approved = {}, set(), set()

    def see(self, thing):
        match thing:
            case Shown(_, {"type": "ui-command"} as frame) | Missed(_, {"type": "ui-command"} as frame):
                data = frame["data"]
                nonce = data["payload"]["nonce"]
                if data["command"] == "open_confirm":
                    self.calls[nonce] = data["payload"]["call_id"]
                    self.open.add(nonce)
                else:
                    self.open.discard(nonce)
            case Fed(e.ConfirmAnswered(nonce, approved)) if nonce in self.open:
                self.open.discard(nonce)
                if approved:
                    self.approved.add(self.calls[nonce])
            case Fed(e.Ended()):
                self.open.clear()


def is_speech(thing):
    """Whether the caller is heard, which is no answer to a sheet: it may be noise."""
    return isinstance(thing, Delivered) and thing.frame["type"] == SPEECH_STARTED


def goes_on(thing):
    """Whether the caller goes on, or is gone, so that whatever was begun is stale."""
    match thing:
        case Fed(e.Typed() | e.CancelAsked() | e.Ended()):
            return True
        case Delivered({"type": kind}):
            return kind == SPEECH_STARTED
    return False


class Calls:
    """The native calls that the session's service told, and their outputs."""

    def __init__(self):
        self.told, self.outputs, self.listening = {}, Counter(), False
        self.all_told = set()

    @property
    def unanswered(self):
        return [call_id for call_id in self.told if not self.outputs[call_id]]

    def see(self, thing):
        match thing:
            case Wrote(UpstreamOpened() | UpstreamClosed() as record):
                self.told, self.outputs = {}, Counter()
                self.listening = isinstance(record, UpstreamOpened)
            case Fed(e.Ended()):
                self.listening = False
            case Delivered(frame) if self.listening:
                for item in told_in(frame):
                    self.told[item["call_id"]] = item["name"]
                    self.all_told.add(item["call_id"])
            case Put(
                _, {"type": "conversation.item.create", "item": {"type": "function_call_output"} as item}
            ):
                self.outputs[item["call_id"]] += 1


def told_in(frame):
    """The calls that a frame of the service tells to be made."""
    kind, response = frame["type"], frame.get("response") or {}
    if kind == "response.output_item.done":
        items = [frame["item"]]
    elif kind == "response.function_call_arguments.done":
        items = [{**frame, "type": "function_call"}]
    elif kind == "response.done" and response["status"] == "completed":
        items = response["output"]
    else:
        items = []
    return [item for item in items if item["type"] == "function_call"]


class Staleness:
    """Which responses must not be heard: those begun for what the caller has left behind.

    The service may begin one only after the caller has gone on: it counts what it was begun for.
    """

    def __init__(self):
        self.stale = set()
        self._forget()

    def _forget(self):
        self._begun, self._before = {}, {}
        self._wishes, self._stale_wishes, self._given_up = set(), set(), set()
        self._utterances, self._stale_utterances = set(), set()
        self._known_to_acknowledge = False

    def see(self, thing):
        match thing:
            case Wrote(UpstreamOpened()):
                self._forget()
            case Begun(response_id):
                self._begun[response_id] = thing
                self._judge()
            case Said({"type": kind, "event_id": event_id}) if kind == SPEECH_STARTED:
                self._before[event_id] = set(self._begun)
            case Delivered({"type": kind, "item_id": item_id}) if kind == SPEECH_STOPPED:
                self._utterances.add(item_id)
            case Delivered({"type": "conversation.item.added", "item": {"id": item_id}}):
                self._known_to_acknowledge |= item_id.startswith("item-")
            case Put(_, {"type": "response.create", "event_id": event_id}):
                self._wishes.add(event_id)
            case Fed(e.TimerFired(name)) if name == CANCEL_TIMER:
                self._given_up |= self._stale_wishes

    def goes_on(self, thing):
        """The caller goes on, by this."""
        self._stale_wishes |= self._wishes
        self._stale_utterances |= self._utterances
        if isinstance(thing, Delivered):
            self.stale |= self._before.get(thing.frame["event_id"], set())
        self._judge()

    def is_stale_wish(self, event_id):
        return event_id in self._stale_wishes

    def _judge(self):
        for response_id, begun in self._begun.items():
            # A service that acknowledges nothing leaves open which of two answers it gives.
            doubtful = bool(self._wishes - self._stale_wishes) and not self._known_to_acknowledge
            old = begun.utterance in self._stale_utterances or begun.wish in self._given_up
            if begun.wish in self._stale_wishes - self._given_up or (old and not doubtful):
                self.stale.add(response_id)
