"""Invariants 9 and 10: the audit is complete, and the record is what was heard."""

import base64
from collections import Counter

from conversations.core import events as e
from conversations.core.records import (
    CallClosed,
    CallOpened,
    TurnClosed,
    TurnOpened,
    TurnTexts,
    UpstreamClosed,
    UpstreamOpened,
)
from conversations.tests.core_watch import is_subsequence
from conversations.tests.machine.replies import AUDIO_DELTA
from conversations.tests.machine.story import Fed, Glance, Over, Put, Ran, Shown, Unwritten, Wrote
from conversations.tests.machine.tracking import Calls, Turns
from conversations.tests.speech_events import BYTES_A_MILLISECOND

TEXT_DELTAS = ("response.output_audio_transcript.delta", "response.output_text.delta")


def invariant_09_the_audit_is_complete(story):
    """One row for every attempt, open before the tool runs, closed exactly once."""
    calls, native = Calls(), 0
    turns, rows, lines = {}, {}, {}
    while True:
        _, thing = yield
        calls.see(thing)
        match thing:
            case Wrote(TurnOpened(turn_id)):
                open_row(turns, turn_id)
            case Wrote(TurnClosed(turn_id)):
                close_row(turns, turn_id)
            case Wrote(TurnTexts(turn_id)):
                assert turn_id in turns, "words are of a turn"
            case Wrote(CallOpened(call_id, turn_id=turn_id, selection=selection)):
                assert turn_id in turns, "a call is of a turn"
                open_row(rows, call_id)
                native += selection == "native"
            case Wrote(CallClosed(call_id)):
                close_row(rows, call_id)
            case Wrote(UpstreamOpened(upstream_id)):
                open_row(lines, upstream_id)
            case Wrote(UpstreamClosed(upstream_id)):
                close_row(lines, upstream_id)
            case Unwritten(CallOpened() as record):
                open_row(rows, record.call_id)
                native += record.selection == "native"
            case Ran(run):
                assert rows.get(run.call_id) == 0, "a tool runs only while its row is open"
            case Glance(settled=True, live=True):
                assert native == len(calls.all_told), "every call that was told has its row"
            case Over():
                left = [row for known in (turns, rows, lines) for row, closed in known.items() if not closed]
                assert not left, f"every row is closed: {left}"


def open_row(rows, row_id):
    assert row_id not in rows, "a row is opened once"
    rows[row_id] = 0


def close_row(rows, row_id):
    assert row_id in rows, "a row is opened before it is closed"
    rows[row_id] += 1
    assert rows[row_id] == 1, "a row is closed once"


def invariant_10_the_record_is_what_was_heard(story):
    """The words of a turn are words that were shown in it, and of a cut one no more than was played."""
    turns, said = Turns(), {}
    while True:
        _, thing = yield
        turns.see(thing)
        match thing:
            case Shown(_, {"type": kind} as frame) if kind in TEXT_DELTAS or kind == AUDIO_DELTA:
                of = said.setdefault(frame["response_id"], Answer(turns.current))
                of.shown(frame)
            case Fed(e.Played(item_id, played_ms)):
                for answer in said.values():
                    answer.played(item_id, played_ms)
            case Put(_, {"type": "conversation.item.truncate", "item_id": item_id, "audio_end_ms": end}):
                sent = max((answer.sent[item_id] for answer in said.values()), default=0)
                assert 0 <= end <= sent, "cut where something was sent"
                for answer in said.values():
                    answer.played(item_id, end)
            case Wrote(TurnClosed(turn_id, heard_text=heard)):
                assert_heard(
                    heard, [one for one in said.values() if one.turn_id == turn_id], turns.ends[turn_id]
                )
            case Wrote(TurnTexts(turn_id, heard_text=heard)) if heard is not None:
                assert_heard(
                    heard, [one for one in said.values() if one.turn_id == turn_id], turns.ends[turn_id]
                )


class Answer:
    """What of one response was shown, by item: its words, its milliseconds, and how many were played."""

    def __init__(self, turn_id):
        self.turn_id = turn_id
        self.words, self.sent, self.heard = {}, Counter(), {}

    def shown(self, frame):
        item_id = frame["item_id"]
        if frame["type"] == AUDIO_DELTA:
            self.sent[item_id] += len(base64.b64decode(frame["delta"])) / BYTES_A_MILLISECOND
        else:
            self.words[item_id] = self.words.get(item_id, "") + frame["delta"]

    def played(self, item_id, milliseconds):
        if item_id in self.words or item_id in self.sent:
            self.heard[item_id] = min(max(milliseconds, 0), self.sent[item_id])

    def most(self, cut):
        """How many letters at most may count as heard."""
        letters = 0
        for item_id, words in self.words.items():
            sent = self.sent[item_id]
            played = self.heard.get(item_id, sent) if cut and sent else sent
            letters += int(len(words) * (played / sent if sent else 1)) + 1
        return letters


def assert_heard(heard, answers, end):
    said = "".join(words for answer in answers for words in answer.words.values())
    assert is_subsequence(heard.replace(" ", ""), said), f"it was said: {heard!r} of {said!r}"
    most = sum(answer.most(end.outcome in ("interrupted", "cancelled", "failed")) for answer in answers)
    assert len(heard) <= most + len(answers), f"and was played: {heard!r}"
