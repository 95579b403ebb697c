"""What is kept for how long: each of the limits at its border, and none of them by another's."""

from datetime import timedelta

import pytest
from django.utils import timezone

from conversations import retention
from conversations.models import Conversation, PhoneLink, ToolCall, Turn, UpstreamSession
from conversations.tests import operators as make
from conversations.tests.core_play import R, a_question
from tools.models import CatalogSnapshot

NOW = timezone.now()
INSTANT = timedelta(microseconds=1)
LIMITS = ("retention_transcripts", "retention_payloads", "retention_rows")
database = pytest.mark.django_db


def called(at, **values):
    """A closed conversation of this moment, in which a tool was used."""
    closed = {"state": "closed", "close_reason": "idle", "closed_at": at}
    times = {"opened_at": at, "last_seen_at": at, "expires_at": at}
    row = make.conversation(**{**closed, **times, **values})
    make.call(make.turn(row, started_at=at), started_at=at)
    make.upstream(row, opened_at=at)
    PhoneLink.objects.create(phone_ending="0001", made_at=at, expires_at=at, conversation=row)
    CatalogSnapshot.objects.create(source="mcp", caller_fingerprint=row.pk, fetched_at=at, expires_at=at)
    return row


def kept(row):
    """What is left of it, in words."""
    turn = Turn.objects.filter(conversation=row).first()
    call = ToolCall.objects.filter(conversation=row).first()
    found = {
        "transcript": turn is not None and bool(turn.caller_text and turn.heard_text),
        "payload": call is not None and bool(call.arguments and call.excerpt and call.sources),
        "turn": turn is not None,
        "call": call is not None,
        "session": UpstreamSession.objects.filter(conversation=row).exists(),
        "conversation": Conversation.objects.filter(pk=row.pk).exists(),
        "link": PhoneLink.objects.filter(expires_at=row.expires_at).exists(),
        "catalog": CatalogSnapshot.objects.filter(caller_fingerprint=row.pk).exists(),
    }
    return {name for name, there in found.items() if there}


ALL = {"transcript", "payload", "turn", "call", "session", "conversation", "link", "catalog"}


@database
@pytest.mark.parametrize(
    ("limit", "goes"),
    [
        ("retention_transcripts", {"transcript"}),
        ("retention_payloads", {"payload", "catalog"}),
        ("retention_rows", ALL - {"catalog"}),
    ],
)
def test_each_limit_takes_its_own_at_its_border_and_no_earlier(limit, goes, configure):
    configure(**{**dict.fromkeys(LIMITS, 1_000), limit: 7})
    border = NOW - timedelta(days=7)
    old, young = called(border - INSTANT), called(border)
    retention.clean_up(NOW)
    assert kept(old) == ALL - goes
    assert "payload" not in goes or not ToolCall.objects.filter(conversation=old).exclude(sources=None)
    assert kept(young) == ALL


@database
def test_an_old_conversation_stays_as_long_as_a_turn_of_it_is_young(configure):
    configure(retention_rows=7)
    border = NOW - timedelta(days=7)
    row = called(border - INSTANT)
    make.turn(row, 2, started_at=border)
    retention.clean_up(NOW)
    assert [turn.index for turn in row.turns.all()] == [2]
    Turn.objects.update(started_at=border - INSTANT)
    retention.clean_up(NOW)
    assert not Conversation.objects.exists()


@database
def test_beyond_the_most_rows_the_oldest_go_and_the_newest_stay_case_192(configure):
    configure(retention_max_rows=2)
    rows = [called(NOW - timedelta(hours=hours)) for hours in (4, 3, 2, 1)]
    done = retention.clean_up(NOW).rows
    assert (done["surplus_tool_calls"], done["surplus_turns"]) == (2, 2)
    assert ["turn" in kept(row) for row in rows] == [False, False, True, True]
    assert "conversation" in kept(rows[0])
    assert retention.clean_up(NOW).rows["surplus_turns"] == 0


@database
def test_the_most_rows_are_no_limit_until_one_is_set_case_192(configure):
    configure(retention_max_rows=0)
    row = called(NOW - timedelta(hours=1))
    retention.clean_up(NOW)
    assert kept(row) == ALL


@database
def test_an_open_conversation_loses_no_rows_to_the_most_that_are_kept_case_192(configure):
    configure(retention_max_rows=1)
    later = NOW + timedelta(hours=1)
    is_open = called(
        NOW - timedelta(minutes=3), state="open", close_reason="", last_seen_at=NOW, expires_at=later
    )
    called(NOW - timedelta(minutes=2))
    retention.clean_up(NOW)
    assert {"turn", "call"} <= kept(is_open)


def records(pieces):
    """What one turn whose answer comes in so many pieces leaves in the record."""
    play = a_question()
    left = []
    play.rows.keep = left.append
    for _ in range(pieces):
        play.writes(R, "well ")
        play.sounds(R, 20)
    play.wrote(R, "well " * pieces)
    play.ends_response(R)
    play.wait(3_600)
    return [type(record).__name__ for record in left]


def test_an_answer_of_many_pieces_leaves_as_many_records_as_one_of_few_case_192():
    assert records(10_000) == records(10)
    assert 0 < len(records(10)) < 5
