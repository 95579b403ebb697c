"""The record of calls: complete, in order, and never in anybody's way."""

import asyncio
import threading
import time
import uuid

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.utils import timezone

from conversations import lifecycle, rows
from conversations.core.records import (
    CallClosed,
    CallOpened,
    TurnClosed,
    TurnOpened,
    TurnTexts,
    UpstreamClosed,
    UpstreamOpened,
)
from conversations.journal import Journal, NotRecorded, get_journal
from conversations.models import ToolCall, Turn, UpstreamSession
from conversations.tests.journal_kit import Gate, turn_opened
from conversations.tests.rows import ADA, opened

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def journal():
    journal = Journal(retry_delays=(0.0, 0.0))
    yield journal
    await journal.aclose()


@pytest.fixture
async def conversation():
    return await sync_to_async(opened)(ADA)


def call_opened(conversation, turn, sequence=1, **values):
    plain = {
        "call_id": str(uuid.uuid4()),
        "conversation_id": str(conversation.pk),
        "turn_id": turn.turn_id,
        "sequence": sequence,
        "source": "mcp",
        "selection": "native",
        "name": "get_report",
        "arguments": '{"request":{"report_id":"r-1"}}',
        "argument_digest": "d" * 64,
        "generation": 3,
        "at": time.time(),
    }
    return CallOpened(**{**plain, **values})


def turn_closed(turn, outcome="done", heard="Eight.", **values):
    return TurnClosed(turn.turn_id, outcome, "How many?", heard, time.time(), **values)


def call_closed(call, status="completed", **values):
    return CallClosed(call.call_id, status, time.time(), 12, **values)


@sync_to_async
def turn_row(record):
    return Turn.objects.get(pk=record.turn_id)


@sync_to_async
def call_row(record):
    return ToolCall.objects.get(pk=record.call_id)


async def test_a_turn_with_its_call_becomes_rows(journal, conversation):
    turn = turn_opened(conversation)
    call = call_opened(conversation, turn)
    for record in (
        turn,
        TurnTexts(turn.turn_id, caller_text="How many?"),
        call,
        call_closed(call, result_chars=120, truncated=True, excerpt="{}", titles=("Cage\u0000 4",)),
        turn_closed(turn, caller_done_at=1.5, answered_at=2.5, ref="ABC2345"),
    ):
        journal.write(record)
    await journal.flush()
    kept, kept_call = await turn_row(turn), await call_row(call)
    assert (kept.outcome, kept.caller_text, kept.heard_text, kept.ref) == (
        "done",
        "How many?",
        "Eight.",
        "ABC2345",
    )
    assert (kept.caller_done_at.timestamp(), kept.answered_at.timestamp()) == (1.5, 2.5)
    assert kept_call.arguments == {"request": {"report_id": "r-1"}}
    assert (kept_call.status, kept_call.result_chars, kept_call.truncated) == ("completed", 120, True)
    assert (kept_call.generation, kept_call.duration_ms) == (3, 12)
    assert kept_call.sources == ["Cage\ufffd 4"]


async def test_an_upstream_session_becomes_a_row(journal, conversation):
    key = str(uuid.uuid4())
    journal.write(UpstreamOpened(key, str(conversation.pk), "ga", "native", ("get_report",), "i" * 64, 1.0))
    journal.write(UpstreamClosed(key, "renewed", 2.0))
    journal.write(UpstreamClosed(key, "again", 3.0))
    await journal.flush()
    row = await UpstreamSession.objects.aget(pk=key)
    assert (row.tool_names, row.close_reason, row.closed_at.timestamp()) == (["get_report"], "renewed", 2.0)


async def test_a_commit_returns_when_the_row_is_there(journal, conversation):
    turn = turn_opened(conversation)
    journal.write(turn)
    call = call_opened(conversation, turn)
    await journal.commit(call)
    assert (await call_row(call)).status == "running"


async def test_writing_waits_for_nothing(conversation):
    gate = Gate()
    journal = Journal(gate)
    turn = turn_opened(conversation)
    journal.write(turn)
    await asyncio.to_thread(gate.entered.wait, 10)
    for index in range(2, 300):
        journal.write(turn_opened(conversation, index))
    await asyncio.sleep(0)  # The loop turns although the database does not.
    assert len(gate.batches) == 1
    gate.open.set()
    await journal.aclose()
    assert await Turn.objects.acount() == 299
    assert [record.index for batch in gate.batches for record in batch] == list(range(1, 300))


async def test_an_end_is_written_once(journal, conversation):
    turn = turn_opened(conversation)
    call = call_opened(conversation, turn)
    for record in (turn, call, call_closed(call, "failed", code="cancelled"), call_closed(call)):
        journal.write(record)
    journal.write(turn_closed(turn, "interrupted", heard="Eig"))
    journal.write(turn_closed(turn, "done", heard="Eight."))
    await journal.flush()
    assert (await turn_row(turn)).heard_text == "Eig"
    assert ((await call_row(call)).status, (await call_row(call)).code) == ("failed", "cancelled")


async def test_an_end_after_the_sweeps_changes_nothing(journal, conversation):
    turn = turn_opened(conversation)
    call = call_opened(conversation, turn)
    journal.write(turn)
    await journal.commit(call)
    await sync_to_async(lifecycle.sweep)(timezone.now())
    journal.write(call_closed(call))
    journal.write(turn_closed(turn))
    await journal.flush()
    assert (await call_row(call)).code == "connection_lost"
    assert (await turn_row(turn)).outcome == "failed"


async def test_the_callers_words_outlive_an_end_that_does_not_know_them(journal, conversation):
    turn = turn_opened(conversation)
    journal.write(turn)
    journal.write(TurnTexts(turn.turn_id, caller_text="How many?", heard_text="Eight, I th"))
    journal.write(TurnTexts(turn.turn_id))
    journal.write(TurnClosed(turn.turn_id, "interrupted", "", "", time.time()))
    await journal.flush()
    kept = await turn_row(turn)
    assert (kept.caller_text, kept.heard_text) == ("How many?", "")


async def test_what_no_database_keeps_is_replaced_and_the_call_stays_a_success_case_062(
    journal, conversation
):
    turn = turn_opened(conversation)
    call = call_opened(conversation, turn, arguments='{"x\\u0000":["a\\u0000b","\\ud800",1.5,null]}')
    journal.write(turn)
    await journal.commit(call)
    journal.write(call_closed(call, excerpt="a\u0000b\ud800"))
    journal.write(turn_closed(turn, heard="a\u0000b\udfff"))
    await journal.flush()
    kept = await call_row(call)
    assert kept.arguments == {"x\ufffd": ["a\ufffdb", "\ufffd", 1.5, None]}
    assert (kept.status, kept.excerpt) == ("completed", "a\ufffdb\ufffd")
    assert (await turn_row(turn)).heard_text == "a\ufffdb\ufffd"


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [(None, None), ("[1,2]", [1, 2]), ('{"a":', '{"a":'), ("NaN", "NaN"), ("[" * 100_000, "[" * 100_000)],
)
async def test_arguments_are_kept_as_given_whatever_they_are(journal, conversation, arguments, kept):
    turn = turn_opened(conversation)
    call = call_opened(conversation, turn, arguments=arguments)
    journal.write(turn)
    await journal.commit(call)
    assert (await call_row(call)).arguments == kept


async def test_texts_over_their_length_are_cut_and_not_lost(journal, conversation):
    turn = turn_opened(conversation)
    call = call_opened(conversation, turn, name="n" * 500, source="s" * 100)
    journal.write(turn)
    journal.write(call)
    journal.write(call_closed(call, "failed", code="c" * 50, ref="R" * 50))
    await journal.flush()
    kept = await call_row(call)
    assert [len(text) for text in (kept.name, kept.source, kept.code, kept.ref)] == [200, 40, 24, 12]


async def test_a_row_that_fails_does_not_lose_the_others(journal, conversation, caplog):
    first, second = turn_opened(conversation), turn_opened(conversation, 2)
    orphan = call_opened(conversation, TurnOpened(str(uuid.uuid4()), "", 1, "voice", 0.0))
    wrong = TurnOpened("no uuid", str(conversation.pk), 9, "voice", time.time())
    for record in (first, orphan, wrong, second):
        journal.write(record)
    await journal.flush()
    assert await Turn.objects.acount() == 2
    assert caplog.text.count("journal.row_failed") == 2
    assert "report_id" not in caplog.text


async def test_a_commit_that_fails_says_so(journal, conversation):
    turn = TurnOpened(str(uuid.uuid4()), str(uuid.uuid4()), 1, "voice", time.time())
    with pytest.raises(NotRecorded):
        await journal.commit(call_opened(conversation, turn))


async def test_a_turn_number_that_is_taken_moves_on(journal, conversation):
    earlier, newer = turn_opened(conversation, 1), turn_opened(conversation, 1)
    journal.write(earlier)
    await journal.commit(newer)
    assert ((await turn_row(earlier)).index, (await turn_row(newer)).index) == (1, 2)


async def test_a_batch_written_twice_is_there_once(journal, conversation):
    turn = turn_opened(conversation)
    call = call_opened(conversation, turn)
    batch = [turn, call, call_closed(call), turn_closed(turn)]
    assert await sync_to_async(rows.write)(batch) == await sync_to_async(rows.write)(batch) == [True] * 4
    assert (await Turn.objects.acount(), await ToolCall.objects.acount()) == (1, 1)


async def test_over_the_capacity_records_are_dropped_counted_and_told_sparingly(conversation, caplog):
    gate = Gate()
    journal = Journal(gate, capacity=3)
    journal.write(turn_opened(conversation))
    await asyncio.to_thread(gate.entered.wait, 10)
    for index in range(2, 14):
        journal.write(turn_opened(conversation, index))
    with pytest.raises(NotRecorded):
        await journal.commit(turn_opened(conversation, 14))
    gate.open.set()
    await journal.aclose()
    assert (journal.lost, await Turn.objects.acount()) == (10, 4)
    assert caplog.text.count("journal.overflow") == 4  # at 1, 2, 4 and 8


async def test_a_cancelled_writer_finishes_what_it_has_case_121(conversation):
    gate = Gate()
    journal = Journal(gate)
    first, second = turn_opened(conversation), turn_opened(conversation, 2)
    journal.write(first)
    await asyncio.to_thread(gate.entered.wait, 10)
    journal.write(second)
    writer = journal._writer
    writer.cancel()
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await writer
    assert await Turn.objects.acount() == 2
    await journal.aclose()


def test_a_loop_that_ends_ends_with_the_record_complete_case_121():
    conversation = opened(ADA)
    turn = turn_opened(conversation)

    async def call():
        journal = get_journal()
        journal.write(turn)
        await asyncio.sleep(0)  # The writer has begun.
        journal.write(turn_closed(turn))

    asyncio.run(call())
    assert Turn.objects.get().outcome == "done"


async def test_cancelled_commits_leave_neither_threads_nor_gaps_case_107(journal, conversation):
    before = set(threading.enumerate())
    turns = [turn_opened(conversation, index) for index in range(1, 301)]
    tasks = [asyncio.create_task(journal.commit(turn)) for turn in turns]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await journal.flush()
    assert await Turn.objects.acount() == 300
    new = set(threading.enumerate()) - before
    assert sum(thread.name.startswith("journal") for thread in new) == 1


async def test_a_store_with_a_bug_leaves_nobody_waiting(conversation):
    calls = []

    def store(records):
        calls.append(records)
        raise ZeroDivisionError

    journal = Journal(store)
    with pytest.raises(NotRecorded):
        await journal.commit(turn_opened(conversation))
    with pytest.raises(NotRecorded):
        await journal.commit(turn_opened(conversation, 2))
    assert len(calls) == 2


async def test_after_its_end_a_journal_takes_nothing_and_the_next_one_does(conversation):
    first = get_journal()
    assert get_journal() is first
    await first.aclose()
    await first.aclose()
    first.write(turn_opened(conversation))
    assert first.lost == 1
    second = get_journal()
    assert second is not first
    await second.commit(turn_opened(conversation))
    await second.aclose()


@pytest.mark.database_server
async def test_a_connection_that_the_server_ended_is_replaced_case_106(journal, conversation):
    await journal.commit(turn_opened(conversation))

    @sync_to_async
    def end_all_others():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )

    await end_all_others()
    await journal.commit(turn_opened(conversation, 2))
    assert await Turn.objects.acount() == 2
