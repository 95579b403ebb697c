"""The record that a played call leaves, held to what a record must be."""

from dataclasses import dataclass, field, replace

from conversations.core.records import (
    CallApproved,
    CallClosed,
    CallOpened,
    TurnClosed,
    TurnOpened,
    TurnTexts,
    TurnTroubled,
)


@dataclass
class Rows:
    """The record as a database would have it: every row with how often it was opened and closed."""

    turns: dict = field(default_factory=dict)
    calls: dict = field(default_factory=dict)
    turn_ends: dict = field(default_factory=dict)
    call_ends: dict = field(default_factory=dict)
    troubled: dict = field(default_factory=dict)
    approved: dict = field(default_factory=dict)

    def keep(self, record):
        match record:
            case TurnOpened(turn_id):
                assert turn_id not in self.turns, "a turn is opened once"
                self.turns[turn_id] = record
            case TurnClosed(turn_id):
                assert turn_id in self.turns, "a turn is opened before it is closed"
                self.turn_ends.setdefault(turn_id, []).append(record)
            case TurnTexts(turn_id, caller_text, heard_text):
                assert turn_id in self.turns, "a turn is opened before it has words"
                self._correct(turn_id, caller_text, heard_text)
            case TurnTroubled(turn_id, code, ref):
                assert turn_id in self.turns, "a turn is opened before it has trouble"
                self.troubled[ref] = code
            case CallOpened(call_id):
                assert call_id not in self.calls, "a call is opened once"
                self.calls[call_id] = record
            case CallApproved(call_id):
                assert call_id in self.calls, "a call is opened before it is approved"
                assert call_id not in self.call_ends, "what has ended is not approved"
                assert call_id not in self.approved, "a call is approved once"
                self.approved[call_id] = record.at
            case CallClosed(call_id):
                assert call_id in self.calls, "a call is opened before it is closed"
                self.call_ends.setdefault(call_id, []).append(record)

    def _correct(self, turn_id, caller_text, heard_text):
        texts = {"caller_text": caller_text, "heard_text": heard_text}
        known = {name: text for name, text in texts.items() if text is not None}
        if turn_id in self.turn_ends:
            self.turn_ends[turn_id] = [replace(end, **known) for end in self.turn_ends[turn_id]]
