"""A call always has an outcome: in words for the model, in a code for everybody, within its room."""

import asyncio
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import executor, sentences
from tools.contract import FAILURE_CODES, Progress, ToolFailure, ToolResult
from tools.executor import MIN_ROOM
from tools.results import LABEL
from tools.testing import MemorySource, a_caller, a_tool, answers, offer_of, reference_data, run

NESTED = {
    "type": "object",
    "required": ["request"],
    "properties": {
        "request": {
            "type": "object",
            "required": ["metric"],
            "properties": {"metric": {"enum": ["oxygen"]}, "limit": {"type": "integer"}},
        }
    },
}
GOOD = {"request": {"metric": "oxygen"}}


@pytest.fixture
def source():
    """Gives a source of one tool, `get`, that answers so."""

    def make(answer, parameters=NESTED, **fields):
        return MemorySource((a_tool("get", parameters, **fields), answer))

    return make


def raising(error):
    async def answer(_arguments, _context):
        raise error

    return answer


def refused(outcome, code):
    """The message of a failed outcome, after a look at its form."""
    assert (outcome.status, outcome.code) == ("failed", code)
    assert outcome.chars == len(outcome.output)
    assert (outcome.titles, outcome.truncated) == ((), False)
    told = json.loads(outcome.output)["error"]
    assert told["code"] == code
    return told["message"]


async def test_a_result_is_labelled_data(source):
    data = {"title": "Oxygen", "value": 8.4, "speech": "Eight point four."}
    outcome = await run(await offer_of(source(answers(data))), "get", GOOD)
    assert outcome.output == LABEL.format(name="get") + json.dumps(data, separators=(",", ":"))
    assert (outcome.status, outcome.code, outcome.truncated) == ("completed", "", False)
    assert outcome.chars == len(outcome.output)
    assert outcome.titles == ("Oxygen",)
    assert outcome.excerpt.startswith('{"title":"Oxygen"')
    assert outcome.duration_ms >= 0


async def test_arguments_reach_the_tool_as_they_were_sent(source):
    tool = source(answers(1))
    offer = await offer_of(tool)
    await run(offer, "get", json.dumps({"request": {"metric": "oxygen", "note": "1.0 }>>>", "n": 1.0}}))
    [call] = tool.calls
    assert call.arguments == {"request": {"metric": "oxygen", "note": "1.0 }>>>", "n": 1.0}}
    assert call.user_id == "user-1"


@pytest.mark.parametrize("nothing", ["", "  ", "null", "{}", None, {}])
async def test_a_tool_without_parameters_runs_on_nothing_case_056(source, nothing):
    outcome = await run(await offer_of(source(answers([]), {})), "get", nothing)
    assert reference_data(outcome.output) == []


@pytest.mark.parametrize("name", ["Get", "get ", "get2", "ge", "", "memory.get"])
async def test_only_the_exact_name_is_found(source, name):
    tool = source(answers(1))
    refused(await run(await offer_of(tool), name, GOOD), "unknown_tool")
    assert tool.calls == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", '"request" is a required property'),
        ({"request": {}}, 'request: "metric" is a required property'),
        ({"request": {"metric": "mood"}}, "request.metric: "),
        ({"request": {"metric": "oxygen", "limit": "5"}}, "request.limit: "),
        ('{"request":{"metric":"oxygen"},"request":{"metric":"oxygen"}}', "one key twice"),
        ('{"request":{"metric":"oxygen"}} and more', "not valid JSON"),
        ('{"request":{"metric":NaN}}', "NaN is not JSON"),
        ("[]", "not a JSON object"),
    ],
)
async def test_bad_arguments_are_told_and_never_run_case_057_067_069(source, arguments, words):
    tool = source(answers(1))
    assert words in refused(await run(await offer_of(tool), "get", arguments), "invalid_arguments")
    assert tool.calls == []


@pytest.mark.parametrize("limit", ["5", "5.0", " 5 ", "five", True, 5.5, None, [5]])
async def test_a_number_that_is_none_is_refused_by_its_field_case_057(source, limit):
    tool = source(answers(1))
    arguments = {"request": {"metric": "oxygen", "limit": limit}}
    assert "request.limit: " in refused(
        await run(await offer_of(tool), "get", arguments), "invalid_arguments"
    )
    assert tool.calls == []


@pytest.mark.parametrize("limit", [5, 5.0])
async def test_a_number_in_any_spelling_of_json_is_one_case_057(source, limit):
    tool = source(answers(1))
    arguments = {"request": {"metric": "oxygen", "limit": limit}}
    assert (await run(await offer_of(tool), "get", arguments)).status == "completed"


async def test_text_that_looks_like_a_number_is_delivered_as_text_case_058(source):
    account = {"type": "object", "properties": {"account_number": {"type": "string"}}}
    tool = source(answers(1), account)
    offer = await offer_of(tool)
    texts = ["00123", "1e5", "true", "null", "2024-01-01"]
    for text in texts:
        await run(offer, "get", json.dumps({"account_number": text}))
    assert [call.arguments["account_number"] for call in tool.calls] == texts


async def test_a_cut_result_is_not_taken_for_a_whole_one_case_124(source):
    document = {"body": "word " * 60_000}
    read = await run(await offer_of(source(answers(document), {})), "get", room=2000)
    seen = reference_data(read.output)
    assert read.truncated
    assert seen["truncated"] is True
    update = source(answers("saved"), {"type": "object"})
    offer = await offer_of(update)
    for arguments in ({"body": seen["body"]}, {"document": seen}):
        assert "only a part" in refused(await run(offer, "get", arguments), "invalid_arguments")
    assert update.calls == []
    assert (await run(offer, "get", {"body": "word"})).status == "completed"


async def test_a_tool_may_have_a_parameter_of_that_name(source):
    declared = {"type": "object", "properties": {"truncated": {"type": "boolean"}}}
    tool = source(answers([]), declared)
    assert (await run(await offer_of(tool), "get", {"truncated": True})).status == "completed"


@pytest.mark.parametrize("data", [None, "", 0, False, {}, []], ids=repr)
async def test_a_falsy_result_is_text_that_is_not_empty_case_088_129_130(source, data):
    outcome = await run(await offer_of(source(answers(data))), "get", GOOD)
    assert outcome.status == "completed"
    assert reference_data(outcome.output) == data
    assert isinstance(outcome.output, str)


async def test_what_cannot_be_written_as_json_is_our_fault_and_not_the_tool_s_case_131(source):
    offer = await offer_of(source(answers({"handle": object()})))
    assert "not JSON: object" in refused(await run(offer, "get", GOOD), "internal")


DENIALS = [
    "Unauthorized access",
    "Error: the session token has expired.",
    "Your session is invalid",
    "You are not signed in.",
    "Please log in again.",
    "invalid access token",
]


@pytest.mark.parametrize("words", DENIALS)
async def test_a_sign_in_refused_in_words_is_an_error_of_the_tool_and_noted_case_101(source, words):
    outcome = await run(await offer_of(source(answers(words, is_error=True))), "get", GOOD)
    assert refused(outcome, "tool_error") == words
    assert outcome.denied


FORBIDDEN = [
    "You have no access to the north center, because it is not assigned to you.",
    "Access denied.",
    "You are not authorized to view this report.",
    "Error: the user is not allowed to read cage 4",
    "You may not see cage 4.",
    "The caller does not have the permission for this.",
    {"error": {"code": "FORBIDDEN", "detail": "Center 4."}},
    "No tienes acceso a esta jaula.",
]


@pytest.mark.parametrize("words", FORBIDDEN)
async def test_a_refusal_in_words_is_one_and_the_model_reads_them(source, words):
    outcome = await run(await offer_of(source(answers(words, is_error=True))), "get", GOOD)
    told = refused(outcome, "forbidden")
    assert told == words if isinstance(words, str) else json.loads(told) == words
    assert not outcome.denied


@pytest.mark.parametrize(
    "words",
    [
        "There is no such report.",
        "Additional properties are not allowed ('cage' was unexpected)",
        "There is no access log for that day.",
        "The cages do not have names.",
        "You cannot have it before Monday.",
    ],
)
async def test_other_failures_are_no_refusal(source, words):
    outcome = await run(await offer_of(source(answers(words, is_error=True))), "get", GOOD)
    assert refused(outcome, "tool_error") == words
    told = await run(await offer_of(source(answers("Access denied."))), "get", GOOD)
    assert told.status == "completed"


@pytest.mark.parametrize("words", ["There is no such report.", "Session 4 is full."])
async def test_other_words_are_no_refused_sign_in(source, words):
    assert not (await run(await offer_of(source(answers(words, is_error=True))), "get", GOOD)).denied
    offer = await offer_of(source(answers("The token has expired.")))
    assert not (await run(offer, "get", GOOD)).denied


@pytest.mark.parametrize("code", sorted(FAILURE_CODES))
async def test_every_failure_of_a_source_is_an_outcome(source, code):
    offer = await offer_of(source(raising(ToolFailure(code, "A sentence."))))
    assert refused(await run(offer, "get", GOOD), code) == "A sentence."


def test_every_code_has_words_for_both():
    assert set(sentences.FAILURES) == FAILURE_CODES
    assert all(words.endswith(".") for pair in sentences.FAILURES.values() for words in pair)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("Report not found", "Report not found"),
        ({"reason": "Report not found"}, '{"reason": "Report not found"}'),
        ("", sentences.for_model("tool_error")),
        (None, sentences.for_model("tool_error")),
    ],
)
async def test_an_error_of_the_tool_is_told_in_its_words_case_086(source, data, message):
    offer = await offer_of(source(answers(data, is_error=True), output_schema={"type": "object"}))
    assert refused(await run(offer, "get", GOOD), "tool_error") == message


async def test_a_long_error_is_bounded(source):
    offer = await offer_of(source(answers("x" * 50_000, is_error=True)))
    assert len(refused(await run(offer, "get", GOOD), "tool_error")) <= executor.MAX_MESSAGE
    assert (await run(offer, "get", GOOD, room=MIN_ROOM)).chars <= MIN_ROOM


async def test_a_bug_is_internal_and_is_logged_without_what_it_held(source, caplog):
    caplog.set_level(logging.DEBUG)
    offer = await offer_of(source(raising(KeyError("a private argument"))))
    message = refused(await run(offer, "get", GOOD), "internal")
    assert "private" not in message
    [record] = [record for record in caplog.records if "tool.failed" in record.getMessage()]
    assert "KeyError" in record.getMessage()
    assert "test_executor.py" in record.getMessage()
    assert "private" not in caplog.text


async def test_a_tool_that_takes_too_long_is_stopped(source):
    async def slow(_arguments, _context):
        return await asyncio.get_running_loop().create_future()

    tool = source(slow)
    refused(await run(await offer_of(tool), "get", GOOD, timeout=0.01), "timeout")
    assert tool.cancelled == ["get"]


async def test_a_cancelled_call_passes_its_cancellation_on(source):
    started = asyncio.Event()

    async def slow(_arguments, _context):
        started.set()
        return await asyncio.get_running_loop().create_future()

    tool = source(slow)
    call = asyncio.create_task(run(await offer_of(tool), "get", GOOD))
    await started.wait()
    call.cancel()
    await asyncio.wait({call})
    assert call.cancelled()
    assert tool.cancelled == ["get"]


async def test_progress_reaches_whoever_asked(source):
    async def halves(_arguments, context):
        context.on_progress(Progress(1, 2))
        return ToolResult(1)

    told = []
    await run(await offer_of(source(halves)), "get", GOOD, on_progress=told.append)
    assert told == [Progress(1, 2)]


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=200), max_size=60),
    st.integers(MIN_ROOM, 4000),
)
async def test_an_outcome_is_within_its_room_and_counted_in_code_points(items, room):
    offer = await offer_of(MemorySource((a_tool("get"), answers({"items": items}))))
    outcome = await run(offer, "get", "", room=room)
    assert outcome.chars == len(outcome.output) <= room
    kept = reference_data(outcome.output)
    assert outcome.truncated == kept.get("truncated", False)
    assert outcome.truncated or kept == {"items": items}
    assert len(outcome.excerpt) <= 500


async def test_a_large_result_does_not_hold_up_the_others(source):
    offer = await offer_of(source(answers({"readings": [[n, n / 2] for n in range(10_000)]})))
    loop = asyncio.get_running_loop()
    turns = 0

    def turn():
        nonlocal turns
        turns += 1
        if not call.done():
            loop.call_later(0.001, turn)

    call = asyncio.create_task(run(offer, "get", GOOD))
    loop.call_soon(turn)
    assert (await call).truncated
    assert turns > 5


async def test_without_room_nothing_runs(source):
    tool = source(answers(1))
    refused(await run(await offer_of(tool), "get", GOOD, room=MIN_ROOM - 1), "result_budget")
    assert tool.calls == []


async def test_a_token_in_an_answer_or_a_failure_is_hidden(source):
    token = a_caller().token
    offer = await offer_of(source(answers({"title": token, "echo": f"Bearer {token}"})))
    outcome = await run(offer, "get", GOOD)
    assert token not in repr(outcome)
    assert reference_data(outcome.output) == {"title": "[hidden]", "echo": "Bearer [hidden]"}
    offer = await offer_of(source(raising(ToolFailure("tool_error", f"bad {token}"))))
    assert token not in repr(await run(offer, "get", GOOD))
    offer = await offer_of(source(answers([token], is_error=True)))
    assert token not in repr(await run(offer, "get", GOOD))


async def test_a_result_that_breaks_its_own_schema_is_used_and_noted_case_087(source, caplog):
    caplog.set_level(logging.INFO)
    promised = {"type": "object", "required": ["count"], "properties": {"count": {"type": "integer"}}}
    for data in ({"count": "three"}, "plain text"):
        outcome = await run(await offer_of(source(answers(data), output_schema=promised)), "get", GOOD)
        assert outcome.status == "completed"
        assert outcome.excerpt.startswith("[does not fit its output schema: ")
        assert len(outcome.excerpt) <= 500
    assert "three" not in caplog.text
    outcome = await run(await offer_of(source(answers({"count": 3}), output_schema=promised)), "get", GOOD)
    assert outcome.excerpt == '{"count":3}'


async def test_a_hostile_output_schema_costs_no_time(source):
    hostile = {"properties": {"a": {"pattern": "^(a+)+$"}}}
    offer = await offer_of(source(answers({"a": "a" * 5000 + "!"}), output_schema=hostile))
    async with asyncio.timeout(2):
        assert (await run(offer, "get", GOOD)).status == "completed"


async def test_what_ran_is_logged_by_name_and_never_by_content(source, caplog):
    caplog.set_level(logging.DEBUG)
    offer = await offer_of(source(answers({"secret": "result-text"})))
    await run(offer, "get", {"request": {"metric": "oxygen", "note": "argument-text"}})
    await run(offer, "unknown-name-from-a-model", GOOD)
    # It is written once whoever waits for the outcome has gone on.
    await asyncio.sleep(0)
    events = [record.getMessage() for record in caplog.records if "tool.executed" in record.getMessage()]
    assert len(events) == 2
    assert "'get'" in events[0] or '"get"' in events[0]
    for text in ("result-text", "argument-text", "oxygen", "unknown-name-from-a-model", a_caller().token):
        assert text not in caplog.text


def test_a_refusal_is_one_json_object_without_a_label():
    text = executor.refusal("forbidden", 'Not "yours", señora.')
    assert text == '{"error": {"code": "forbidden", "message": "Not \\"yours\\", señora."}}'
