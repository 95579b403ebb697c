"""Chat completions as servers really stream them: pieces without index, repeated calls, odd ends."""

import json

import pytest
import pytest_asyncio

from conversations.brains import OpenAIBrain
from conversations.brains.loop import Hop
from conversations.core.transcript import Said
from conversations.tests.fake_models import CUT, Calls, Wire, calls, says
from conversations.tests.fake_openai import chunk, piece
from conversations.tests.providers import asking, picks, provider_of, words
from tools.contract import Tool
from tools.translation import COMPILED

pytestmark = pytest.mark.asyncio(loop_scope="module")

LOOK = Tool("look", "Looks.", {"type": "object", "properties": {"id": {"type": "integer"}}}, "here")
DONE = "data: [DONE]\n\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served_provider():
    async with provider_of("openai") as one:
        yield one


@pytest.fixture
def provider(served_provider):
    return served_provider.as_new()


def streamed(*pieces, finish="tool_calls", usage=None):
    """The wire of an answer that consists of these pieces of tool calls."""
    events = [chunk({"tool_calls": [one]}) for one in pieces]
    return Wire((*events, chunk({}, finish), *([usage] if usage else []), DONE))


async def called(provider, *pieces, **more):
    """Name, arguments and id of the calls that these pieces are."""
    provider.fake.script(streamed(*pieces, **more))
    answer = picks(await provider.answer(asking(tools=[LOOK])))
    return [(one.name, one.arguments, one.id) for one in answer]


async def test_pieces_without_index_or_id_belong_to_the_call_before_them_case_134(provider):
    pieces = [piece(arguments=part) for part in ('{"i', 'd": ', "1", "2}")]
    assert await called(provider, piece(call="c1", name="look"), *pieces) == [("look", '{"id": 12}', "c1")]


async def test_pieces_with_an_index_that_the_first_lacked_belong_to_it_too_case_134(provider):
    pieces = [piece(call="c1", name="look"), piece(0, arguments='{"id": '), piece(0, arguments="3}")]
    assert await called(provider, *pieces) == [("look", '{"id": 3}', "c1")]


async def test_two_calls_without_index_are_told_apart_by_their_ids_case_134(provider):
    pieces = [
        piece(call="c1", name="look", arguments='{"id": '),
        piece(arguments="1}"),
        piece(call="c2", name="look", arguments='{"id": '),
        piece(arguments="2}"),
    ]
    assert await called(provider, *pieces) == [("look", '{"id": 1}', "c1"), ("look", '{"id": 2}', "c2")]


async def test_whole_calls_that_all_have_index_0_are_kept_apart_case_135(provider):
    pieces = [piece(0, f"c{n}", "look", json.dumps({"id": n})) for n in (1, 2)]
    assert [one[1:] for one in await called(provider, *pieces)] == [('{"id": 1}', "c1"), ('{"id": 2}', "c2")]


async def test_whole_calls_with_index_0_and_no_ids_are_kept_apart_case_135(provider):
    pieces = [piece(0, None, "look", json.dumps({"id": n})) for n in (1, 2)]
    assert [one[1] for one in await called(provider, *pieces)] == ['{"id": 1}', '{"id": 2}']


async def test_calls_of_one_id_are_told_apart_by_their_index_case_135(provider):
    pieces = [piece(n, "call", "look", json.dumps({"id": n})) for n in (0, 1)]
    assert [one[1] for one in await called(provider, *pieces)] == ['{"id": 0}', '{"id": 1}']


async def test_interleaved_pieces_find_their_calls_by_index(provider):
    pieces = [
        piece(0, "a", "look"),
        piece(1, "b", "look"),
        piece(0, arguments='{"id": '),
        piece(1, arguments="{}"),
    ]
    assert await called(provider, *pieces, piece(0, arguments="7}")) == [
        ("look", '{"id": 7}', "a"),
        ("look", "{}", "b"),
    ]


async def test_a_name_on_every_piece_is_one_name(provider):
    pieces = [piece(0, "a", "look", part) for part in ("", '{"id"', ": 4}")]
    assert await called(provider, *pieces) == [("look", '{"id": 4}', "a")]


async def test_an_empty_object_that_holds_the_place_of_the_arguments_is_replaced(provider):
    pieces = [piece(0, "a", "look", "{}"), piece(0, arguments='{"id"'), piece(0, arguments=": 4}")]
    assert await called(provider, *pieces) == [("look", '{"id": 4}', "a")]


async def test_arguments_that_are_no_text_are_read_as_what_they_are(provider):
    assert await called(provider, piece(0, "a", "look", {"id": 4})) == [("look", '{"id": 4}', "a")]


async def test_a_call_without_arguments_has_an_empty_object(provider):
    assert await called(provider, piece(0, "a", "now")) == [("now", "{}", "a")]


@pytest.mark.parametrize(
    "again",
    [
        piece(0, "c1", "look", '{"id": 12}'),
        piece(None, "c1", "look", '{"id":12}'),
        piece(1, "c1", "look", '{"id": 12}'),
        piece(0, None, "look", '{"id": 12}'),
    ],
)
async def test_a_call_that_comes_again_in_the_last_chunk_is_one_call_case_151(provider, again):
    pieces = [piece(0, "c1", "look"), piece(0, arguments='{"id": '), piece(0, arguments="12}")]
    assert await called(provider, *pieces, again) == [("look", '{"id": 12}', "c1")]


async def test_calls_that_end_with_stop_are_calls_case_137(provider):
    whole = piece(0, "c1", "look", '{"id": 1}')
    assert await called(provider, whole, finish="stop") == [("look", '{"id": 1}', "c1")]
    assert await called(provider, whole, finish=None) == [("look", '{"id": 1}', "c1")]


@pytest.mark.parametrize("finish", ["tool_calls", None, "a_reason_of_its_own"])
async def test_an_answer_without_calls_ends_whatever_its_finish_reason_says_case_137(provider, finish):
    provider.fake.script(Wire((chunk({"content": "Good."}), chunk({}, finish), DONE)))
    answer = await provider.answer()
    assert (words(answer), picks(answer)) == (["Good."], [])


async def test_chunks_without_choices_and_comments_are_passed_by_case_143(provider):
    filtered = {**chunk({}), "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    usage = {**chunk({}), "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}
    role, said = chunk({"role": "assistant"}), chunk({"content": "Good."})
    provider.fake.script(Wire((filtered, ": keep-alive\n\n", role, said, chunk({}, "stop"), usage, DONE)))
    assert words(await provider.answer()) == ["Good."]


@pytest.mark.parametrize("odd", [{"object": "ping"}, {"choices": None}, {"choices": [{"index": 0}]}, None, 7])
async def test_a_chunk_of_another_shape_says_nothing(provider, odd):
    provider.fake.script(Wire((odd, chunk({"content": "Good."}), chunk({}, "stop"), DONE)))
    assert words(await provider.answer()) == ["Good."]


async def test_a_call_whose_arguments_break_off_is_handed_on_as_it_is_case_144(provider):
    broken = piece(0, "c1", "look", '{"id": 12')
    assert await called(provider, broken) == [("look", '{"id": 12', "c1")]


async def test_reaching_our_own_token_limit_cuts_a_call_that_reads_as_whole_case_144(provider):
    usage = {**chunk({}), "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 40}}
    provider.fake.script(streamed(piece(0, "c1", "pay", '{"amount": 1}'), usage=usage))
    brain = provider.brain()
    brain.max_output_tokens = 40
    (picked,) = picks(await provider.answer(asking(tools=[LOOK]), brain))
    assert picked.cut
    assert provider.fake.last.body["max_completion_tokens"] == 40
    assert provider.fake.last.body["stream_options"] == {"include_usage": True}


async def test_half_an_object_at_the_token_limit_is_cut_and_goes_back_readable_case_145(provider):
    provider.fake.script((Calls("look", '{"id": 1'), CUT), says("Shorter."))
    (picked,) = picks(await provider.answer(asking(tools=[LOOK])))
    assert (picked.cut, picked.arguments) == (True, '{"id": 1')
    hop = Hop("", (picked,), ("Your answer was cut off.",))
    assert words(await provider.answer(asking(tools=[LOOK], hops=(hop,)))) == ["Shorter."]
    assert provider.fake.last.results == [("look", "Your answer was cut off.")]


async def test_hidden_reasoning_is_no_answer_where_the_content_is_empty_case_148(provider):
    thought = chunk({"content": "", "reasoning_content": "The user wants tea.", "reasoning": "Tea."})
    provider.fake.script(Wire((thought, chunk({}, "stop"), DONE)))
    assert await provider.answer() == []


async def test_of_a_content_in_parts_only_the_text_is_spoken_case_148(provider):
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Tea?"}]},
        {"type": "text", "text": "Tea."},
    ]
    provider.fake.script(Wire((chunk({"content": parts}), chunk({}, "stop"), DONE)))
    assert words(await provider.answer()) == ["Tea."]


async def test_a_refusal_of_the_model_is_what_it_says(provider):
    provider.fake.script(Wire((chunk({"refusal": "I cannot do that."}), chunk({}, "stop"), DONE)))
    assert words(await provider.answer()) == ["I cannot do that."]


async def test_an_answer_that_cannot_be_read_is_a_failure(provider):
    provider.fake.script(Wire((chunk({"content": "Well."}), "data: {broken\n\n")))
    said, failed = await provider.failure()
    assert (said, failed.code) == ("Well.", "model_unavailable")


async def test_what_a_server_wants_back_with_its_call_goes_back(provider):
    provider.fake.script((says("Wait."), calls("look", {"id": 1})), says("Done."))
    answer = await provider.answer(asking(tools=[LOOK]))
    await provider.answer(asking(tools=[LOOK], hops=(Hop("Wait.", picks(answer), ("seen",)),)))
    (back,) = [one for one in provider.fake.last.body["messages"] if one.get("tool_calls")]
    assert back["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "sig-0"}}


async def test_a_call_without_words_goes_back_with_a_content_of_null_case_150(provider):
    provider.fake.script(calls("look", {"id": 1}), says("Done."))
    answer = await provider.answer(asking(tools=[LOOK]))
    await provider.answer(asking(tools=[LOOK], hops=(Hop("", picks(answer), ("seen",)),)))
    (back,) = [one for one in provider.fake.last.body["messages"] if one.get("tool_calls")]
    assert back["content"] is None


async def test_a_caller_whom_nobody_answered_speaks_once_to_models_that_insist_on_turns(provider):
    await provider.answer(asking(history=[Said("caller", "Hello?")]))
    assert provider.fake.last.said == [("user", "Hello?\nWhat is new?")]


async def test_a_name_that_the_model_made_up_goes_back_as_one_that_is_allowed(provider):
    provider.fake.script(calls("functions.look up!"), says("Done."))
    answer = await provider.answer(asking(tools=[LOOK]))
    await provider.answer(asking(tools=[LOOK], hops=(Hop("", picks(answer), ("There is no such tool.",)),)))
    assert provider.fake.refused == []


async def test_a_request_has_no_field_that_a_strict_server_may_not_know(provider):
    await provider.answer()
    assert set(provider.fake.last.body) == {"model", "messages", "stream"}


async def test_schemas_are_told_in_a_narrower_dialect_where_the_brain_says_so(provider):
    class Compiled(OpenAIBrain):
        dialect = COMPILED

    place = {"type": "object", "properties": {"side": {"type": "string"}}}
    schema = {"type": "object", "properties": {"at": {"$ref": "#/$defs/Place"}}, "$defs": {"Place": place}}
    await provider.answer(asking(tools=[Tool("go", "Goes.", schema, "here")]), provider.brain(Compiled))
    assert provider.fake.last.tools["go"]["properties"]["at"]["properties"] == {"side": {"type": "string"}}
