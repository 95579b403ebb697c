"""What this process counts: each thing once, under few labels, for those who may read it."""

import random
import tomllib
import uuid
from pathlib import Path

import httpx2
import pytest
from django.db import OperationalError
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from conversations import cleanups
from conversations.core.records import (
    CallClosed,
    CallOpened,
    TurnClosed,
    TurnOpened,
    UpstreamClosed,
    UpstreamRecognised,
)
from conversations.journal import SHARE, Journal, Share
from conversations.metrics import METER, MOST_OPEN, MOST_TOOLS, Meter
from conversations.models import CleanupRun
from conversations.realtime.browser import DROPPED
from conversations.realtime.outbox import Outbox
from conversations.tests.rows import ago, opened, running_call, running_turn
from conversations.tests.speech_events import Calls, Says
from conversations.tests.talking import eventually
from vocero import VERSION

pytest_plugins = ("conversations.tests.deployment",)

TOKEN = "metrics-token-0123456789"
SCRAPE = "/metrics"
ODD = ("get_report", "", "\x00", "a" * 5000, '"} 1\nvocero_evil 1', "é" * 40, "+34600000001", "DROP TABLE")


@pytest.fixture
def meter():
    return Meter()


def value(registry, name, **labels):
    return registry.get_sample_value(name, labels) or 0.0


def series(meter):
    return [
        (sample.name, tuple(sorted(sample.labels.items())))
        for family in meter.registry.collect()
        for sample in family.samples
    ]


def call(meter, name="get_report", source="aquaportal", status="completed", code="", duration=120):
    call_id = str(uuid.uuid4())
    meter.record(CallOpened(call_id, "c", "t", 1, source, "native", name, '{"a": 1}', "digest", 1, 100.0))
    meter.record(CallClosed(call_id, status, 101.0, duration, code))


def turn(meter, origin="voice", outcome="done", done=10.0, answered=11.2, silent_ms=None):
    turn_id = str(uuid.uuid4())
    meter.record(TurnOpened(turn_id, "c", 1, origin, 9.0))
    meter.record(TurnClosed(turn_id, outcome, "what", "that", 20.0, done, answered, silent_ms=silent_ms))


def test_a_tool_call_is_counted_once_with_its_source_and_code_and_timed_where_it_ran(meter):
    call(meter)
    call(meter, status="failed", code="timeout", duration=30_000)
    call(meter, name="anything", source="", status="failed", code="unknown_tool")
    count, of = "vocero_tool_calls_total", meter.registry
    assert value(of, count, tool="get_report", source="aquaportal", status="completed", code="") == 1
    assert value(of, count, tool="get_report", source="aquaportal", status="failed", code="timeout") == 1
    assert value(of, count, tool="other", source="other", status="failed", code="unknown_tool") == 1
    assert value(of, "vocero_tool_seconds_count", tool="get_report") == 2
    assert value(of, "vocero_tool_seconds_sum", tool="get_report") == pytest.approx(30.12)
    assert value(of, "vocero_tool_seconds_count", tool="other") == 0


def test_a_turn_is_counted_and_its_answer_timed_from_the_end_of_the_question(meter):
    turn(meter)
    turn(meter, origin="text", answered=10.5)
    turn(meter, origin="http", outcome="failed")
    turn(meter, outcome="failed", answered=None, silent_ms=20_000)
    of = meter.registry
    assert value(of, "vocero_turns_total", origin="voice", outcome="done") == 1
    assert value(of, "vocero_turns_total", origin="http", outcome="failed") == 1
    assert value(of, "vocero_silent_turns_total") == 1
    assert value(of, "vocero_first_audio_seconds_count") == 2
    assert value(of, "vocero_voice_to_voice_seconds_count") == 1
    assert value(of, "vocero_voice_to_voice_seconds_sum") == pytest.approx(1.2)


def test_sessions_are_counted_by_dialect_and_lost_ones_apart_from_those_that_ended_well(meter):
    for dialect in ("ga", "s2s-1.1", "what a service invented"):
        meter.record(UpstreamRecognised("u", dialect))
    for reason in ("closed", "rotated", "redeclared", "lost: 1006", "unreachable: refused"):
        meter.record(UpstreamClosed("u", reason, 1.0))
    of = meter.registry
    assert value(of, "vocero_sessions_total", dialect="ga") == 1
    assert value(of, "vocero_sessions_total", dialect="other") == 1
    assert value(of, "vocero_speech_lost_total") == 2


def test_ten_thousand_odd_names_and_codes_of_a_hostile_model_give_a_bounded_number_of_series(meter):
    dice = random.Random(7)
    for number in range(10_000):
        odd = f"{dice.choice(ODD)}{number}"
        source = dice.choice(("", "aquaportal", "apipilot", "inprocess", "browser", odd))
        call(meter, name=odd, source=source, status=dice.choice(("completed", "failed", odd)), code=odd)
        turn(meter, origin=odd, outcome=odd)
        meter.record(UpstreamRecognised(odd, odd))
        meter.closed(odd)
    found = series(meter)
    tools = {dict(labels)["tool"] for name, labels in found if name == "vocero_tool_calls_total"}
    assert "other" in tools
    assert len(tools) <= 4 * MOST_TOOLS + 1
    assert len(found) < 12_000
    assert not any(len(text) > 100 for _, labels in found for _, text in labels)


def test_a_name_that_no_source_offers_is_never_a_label(meter):
    call(meter, name="call +34600000001 now", source="", status="failed", code="unknown_tool")
    assert "600000001" not in str(series(meter))


def test_calls_that_never_end_are_forgotten_some_day(meter):
    for number in range(MOST_OPEN + 5):
        meter.record(TurnOpened(str(number), "c", 1, "voice", 1.0))
    assert len(meter._turns) == MOST_OPEN


@pytest.fixture
def before():
    """How much a sample of the process's own meter has grown since the test began."""
    known = {
        (s.name, frozenset(s.labels.items())): s.value for f in METER.registry.collect() for s in f.samples
    }

    def grown(name, **labels):
        return value(METER.registry, name, **labels) - known.get((name, frozenset(labels.items())), 0.0)

    return grown


async def test_a_journal_counts_what_it_is_given_and_what_it_cannot_keep(before):
    journal = Journal(store=lambda records: [True] * len(records))
    crowded = Share(waiting=SHARE)
    journal.write(UpstreamRecognised("u", "beta"))
    journal.write(UpstreamRecognised("u", "beta"), crowded)
    assert journal.backlog == 1
    await journal.aclose()
    assert before("vocero_sessions_total", dialect="beta") == 2
    assert before("vocero_queue_dropped_total", queue="journal") == 1


def test_a_full_outbox_counts_what_it_refuses_and_the_sound_it_gives_up(before):
    box = Outbox(1_000, dropped=DROPPED)
    while box.put("s" * 40, is_audio=True):
        pass
    assert before("vocero_queue_dropped_total", queue="browser") == 1
    sounds = len(box._frames)
    assert box.put("w" * 400)
    assert before("vocero_queue_dropped_total", queue="browser") == 1 + sounds


@pytest.mark.django_db(transaction=True)
def test_a_close_and_the_calls_of_a_dead_process_are_counted(before):
    from conversations import lifecycle

    conversation = opened()
    running_call(running_turn(conversation, started_at=ago(minutes=9)))
    lifecycle.close(str(conversation.pk), "operator")
    lifecycle.close(str(conversation.pk), "operator")
    assert before("vocero_closed_total", reason="operator") == 1
    lost = {"tool": "other", "source": "other", "status": "failed", "code": "connection_lost"}
    assert before("vocero_tool_calls_total", **lost) == 1


@pytest.mark.django_db
def test_the_version_is_the_projects():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["version"] == VERSION
    assert f'version="{VERSION}"' in Client().get(SCRAPE).content.decode()


# ---- who may read it


def reads(peer="127.0.0.1", **headers):
    return Client(REMOTE_ADDR=peer).get(SCRAPE, headers=headers).status_code


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("peer", "headers", "hops", "status"),
    [
        ("127.0.0.1", {}, 0, 200),
        ("::1", {}, 0, 200),
        ("203.0.113.7", {}, 0, 403),
        ("10.0.0.7", {}, 0, 403),
        ("", {}, 0, 403),
        # A proxy on this machine that nobody told us of speaks for the whole world.
        ("127.0.0.1", {"X-Forwarded-For": "203.0.113.7"}, 0, 403),
        ("127.0.0.1", {"X-Real-IP": "203.0.113.7"}, 0, 403),
        ("127.0.0.1", {"Forwarded": "for=203.0.113.7"}, 0, 403),
        ("127.0.0.1", {"Via": "1.1 proxy"}, 0, 403),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, 0, 403),
        # One that we were told of says who asks; what the client claims before that counts for nothing.
        ("10.0.0.2", {"X-Forwarded-For": "127.0.0.1, 203.0.113.7"}, 1, 403),
        ("10.0.0.2", {"X-Forwarded-For": "203.0.113.7, 127.0.0.1"}, 1, 200),
        ("127.0.0.1", {}, 1, 200),
        ("10.0.0.2", {}, 1, 403),
    ],
)
def test_without_a_token_only_this_machine_reads(configure, peer, headers, hops, status):
    configure(trusted_proxies=hops)
    assert reads(peer, **headers) == status


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("header", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer {TOKEN}", 200),
        (f"Bearer {TOKEN}x", 401),
        ("Bearer ", 401),
        (f"Basic {TOKEN}", 401),
        ("", 401),
        ("Bearer é", 401),
    ],
)
def test_with_a_token_only_its_bearer_reads_from_wherever(configure, header, status):
    configure(metrics_token=TOKEN)
    for peer in ("127.0.0.1", "203.0.113.7"):
        assert reads(peer, Authorization=header) == status


@pytest.mark.django_db
def test_a_stranger_is_told_what_to_do_and_nothing_else(configure):
    response = Client(REMOTE_ADDR="203.0.113.7").get(SCRAPE)
    assert "S2S_METRICS_TOKEN" in response.content.decode()
    assert "vocero_turns" not in response.content.decode()
    assert Client().post(SCRAPE).status_code == 405


@pytest.mark.django_db
def test_a_refused_request_is_counted_by_its_code(before, configure):
    Client().get("/api/conversations/current")
    assert (
        before("vocero_refused_total", why="unauthorized") + before("vocero_refused_total", why="not_found")
        == 1
    )


@pytest.mark.django_db
def test_the_last_good_cleanup_is_told_and_none_where_there_was_none_or_nobody_knows(monkeypatch):
    name = "vocero_retention_last_success_timestamp_seconds"
    assert name not in Client().get(SCRAPE).content.decode()
    good, bad = ago(hours=2), ago(hours=1)
    CleanupRun.objects.create(started_at=good, ended_at=good, failures=[])
    CleanupRun.objects.create(started_at=bad, ended_at=bad, failures=["transcripts"])
    told = text_string_to_metric_families(Client().get(SCRAPE).content.decode())
    [sample] = [s for family in told for s in family.samples if s.name == name]
    assert sample.value == pytest.approx(good.timestamp())

    def away():
        raise OperationalError("password authentication failed")

    monkeypatch.setattr(cleanups, "last_success", away)
    answer = Client().get(SCRAPE)
    assert answer.status_code == 200
    assert name not in answer.content.decode()
    assert "vocero_journal_backlog 0.0" in answer.content.decode()


# ---- a real call


async def scrape(address):
    async with httpx2.AsyncClient(trust_env=False) as client:
        answer = await client.get(address.origin + SCRAPE)
    assert answer.status_code == 200, answer.text
    families = text_string_to_metric_families(answer.text)
    return {(s.name, frozenset(s.labels.items())): s.value for f in families for s in f.samples}


async def test_a_call_with_a_tool_shows_in_what_is_scraped(ada, vocero, speech):
    began = await scrape(vocero)

    async def grown(name, **labels):
        key = (name, frozenset(labels.items()))
        return (await scrape(vocero)).get(key, 0.0) - began.get(key, 0.0)

    async with ada.talks() as talk:
        await talk.ready()
        assert await grown("vocero_conversations_live") == 1
        speech.replies += [
            Calls.one("get_my_briefing", {}),
            Calls.one("drop_tables", {}),
            Says("Here it is."),
        ]
        await talk.types("What do you have for me?")
        await talk.shown("response.output_audio_transcript.done")
        await talk.shown("response.done")
        await ada.cleans_up()
        await talk.closed()
    await eventually(lambda: ended(grown))
    briefing = {"tool": "get_my_briefing", "source": "aquaportal", "status": "completed", "code": ""}
    unknown = {"tool": "other", "source": "other", "status": "failed", "code": "unknown_tool"}
    assert await grown("vocero_tool_calls_total", **briefing) == 1
    assert await grown("vocero_tool_calls_total", **unknown) == 1
    assert await grown("vocero_tool_seconds_count", tool="get_my_briefing") == 1
    assert await grown("vocero_turns_total", origin="text", outcome="done") == 1
    assert await grown("vocero_first_audio_seconds_count") == 1
    assert await grown("vocero_voice_to_voice_seconds_count") == 0
    assert await grown("vocero_sessions_total", dialect="ga") == 1
    assert await grown("vocero_closed_total", reason="caller_cleanup") == 1
    assert await grown("vocero_journal_backlog") == 0


async def ended(grown):
    return await grown("vocero_conversations_live") == 0


async def test_sockets_that_are_not_let_in_are_counted(vocero, ada):
    began = await scrape(vocero)
    async with ada.talks() as talk:
        await talk.ready()
    from conversations.tests.talking import talk as knock

    async with knock(vocero, "a-strangers-cookie", ada.conversation) as stranger:
        assert await stranger.closed() == 4401
    key = ("vocero_refused_total", frozenset({("why", "socket_4401")}))
    assert (await scrape(vocero))[key] - began.get(key, 0.0) == 1
