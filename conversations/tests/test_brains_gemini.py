"""Gemini's two APIs as they really stream: calls without ids, repeated calls, odd ends, steps of any kind."""

import json

import pytest
import pytest_asyncio

from conversations.brains.loop import Hop
from conversations.tests.fake_gemini import candidate, event, interaction
from conversations.tests.fake_models import SIGNATURE, Calls, Wire, calls, says
from conversations.tests.providers import asking, picks, provider_of, words
from tools.contract import Tool

pytestmark = pytest.mark.asyncio(loop_scope="module")

LOOK = Tool("look", "Looks.", {"type": "object", "properties": {"id": {"type": "integer"}}}, "here")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served_gemini():
    async with provider_of("gemini") as one:
        yield one


@pytest.fixture
def gemini(served_gemini):
    return served_gemini.as_new()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served_interactions():
    async with provider_of("interactions") as one:
        yield one


@pytest.fixture
def interactions(served_interactions):
    return served_interactions.as_new()


def function(number, call=None):
    about = {"name": "look", "args": {"id": number}, **({"id": call} if call else {})}
    return {"functionCall": about, "thoughtSignature": SIGNATURE}


@pytest.mark.parametrize("ids", [("a", "b"), (None, None)])
@pytest.mark.parametrize("together", [True, False])
async def test_parallel_calls_are_two_in_one_chunk_or_in_two_case_135(gemini, ids, together):
    parts = [function(number, call) for number, call in enumerate(ids)]
    chunks = [candidate(parts)] if together else [candidate([part]) for part in parts]
    gemini.fake.script(Wire((*chunks, candidate([], "STOP"))), says("Done."))
    answer = picks(await gemini.answer(asking(tools=[LOOK])))
    assert [(one.id or None, json.loads(one.arguments)) for one in answer] == [
        (ids[0], {"id": 0}),
        (ids[1], {"id": 1}),
    ]
    await gemini.answer(asking(tools=[LOOK], hops=(Hop("", answer, ("first", "second")),)))
    assert gemini.fake.last.results == [("look", "first"), ("look", "second")]


async def test_what_the_model_signed_anywhere_goes_back_in_its_place(gemini):
    signed = {"text": "Wait.", "thoughtSignature": SIGNATURE}
    gemini.fake.script(
        Wire((candidate([signed]), candidate([function(1, "a")]), candidate([{"text": ""}], "STOP")))
    )
    answer = picks(await gemini.answer(asking(tools=[LOOK])))
    await gemini.answer(asking(tools=[LOOK], hops=(Hop("Wait.", answer, ("seen",)),)))
    assert gemini.fake.last.body["contents"][1]["parts"] == [signed, function(1, "a")]


async def test_a_call_that_comes_again_is_one_call_case_151(gemini):
    chunks = [candidate([function(1, "a")]), candidate([function(1, "a")], "STOP")]
    gemini.fake.script(Wire(chunks))
    assert len(picks(await gemini.answer(asking(tools=[LOOK])))) == 1


@pytest.mark.filterwarnings("ignore:.*is not a valid FinishReason")
@pytest.mark.parametrize("finish", ["STOP", "A_REASON_OF_TOMORROW", None])
async def test_calls_are_calls_whatever_the_finish_reason_says_case_137(gemini, finish):
    gemini.fake.script(Wire((candidate([function(1, "a")], finish),)))
    assert len(picks(await gemini.answer(asking(tools=[LOOK])))) == 1
    gemini.fake.script(Wire((candidate([{"text": "Good."}], finish),)))
    assert words(await gemini.answer()) == ["Good."]


async def test_chunks_without_candidates_are_passed_by_case_143(gemini):
    counted = {"usageMetadata": {"promptTokenCount": 3}}
    without = {"candidates": [{"index": 0, "finishReason": "STOP"}]}
    gemini.fake.script(Wire((counted, candidate([{"text": "Good."}]), without, counted)))
    assert words(await gemini.answer()) == ["Good."]


async def test_a_blocked_prompt_is_a_refusal(gemini):
    gemini.fake.script(Wire(({"promptFeedback": {"blockReason": "SAFETY"}},)))
    _, failed = await gemini.failure()
    assert (failed.code, str(failed)) == ("model_refused", "the prompt was blocked: SAFETY")


async def test_the_sdk_never_calls_a_tool_by_itself(gemini):
    gemini.fake.script(calls("look", {"id": 1}))
    await gemini.answer(asking(tools=[LOOK]))
    assert len(gemini.fake.asked) == 1


def step(index, given, *deltas):
    yield event("step.start", index=index, step=given)
    for delta in deltas:
        yield event("step.delta", index=index, delta=delta)
    yield event("step.stop", index=index)


def pieces(*texts):
    return [{"type": "arguments_delta", "arguments": text} for text in texts]


def ended(*events, status="requires_action"):
    return Wire(
        (*events, event("interaction.completed", interaction=interaction(status)), "data: [DONE]\n\n")
    )


async def test_arguments_come_whole_or_in_pieces(interactions):
    whole = step(0, {"type": "function_call", "id": "a", "name": "look", "arguments": {"id": 1}})
    bare = step(1, {"type": "function_call", "id": "b", "name": "look"}, *pieces('{"i', 'd": 2}'))
    interactions.fake.script(ended(*whole, *bare))
    answer = picks(await interactions.answer(asking(tools=[LOOK])))
    assert [(one.id, json.loads(one.arguments)) for one in answer] == [("a", {"id": 1}), ("b", {"id": 2})]


async def test_interleaved_steps_find_their_pieces_by_index_case_135(interactions):
    bare = {"type": "function_call", "name": "look", "arguments": {}}
    begun = [event("step.start", index=n, step={**bare, "id": call}) for n, call in enumerate("ab")]
    mixed = [(0, '{"id"'), (1, "{}"), (0, ": 7}")]
    events = [*begun, *(event("step.delta", index=n, delta=pieces(text)[0]) for n, text in mixed)]
    interactions.fake.script(ended(*events))
    answer = picks(await interactions.answer(asking(tools=[LOOK])))
    assert [one.arguments for one in answer] == ['{"id": 7}', "{}"]


async def test_a_repeated_step_is_one_call_case_151(interactions):
    given = {"type": "function_call", "id": "a", "name": "look", "arguments": {"id": 1}}
    interactions.fake.script(ended(*step(0, given), *step(1, given)))
    assert len(picks(await interactions.answer(asking(tools=[LOOK])))) == 1


@pytest.mark.parametrize("status", ["completed", "requires_action", "a_status_of_tomorrow"])
async def test_calls_are_calls_whatever_the_status_says_case_137(interactions, status):
    given = {"type": "function_call", "id": "a", "name": "look", "arguments": {"id": 1}}
    interactions.fake.script(ended(*step(0, given), status=status))
    (picked,) = picks(await interactions.answer(asking(tools=[LOOK])))
    assert not picked.cut


@pytest.mark.parametrize("status", ["failed", "cancelled"])
async def test_a_failed_interaction_is_a_failure(interactions, status):
    interactions.fake.script(ended(status=status))
    _, failed = await interactions.failure()
    assert (failed.code, len(interactions.fake.asked)) == ("model_unavailable", 2)


async def test_a_call_that_never_ended_is_cut_case_144(interactions):
    start = event("step.start", index=0, step={"type": "function_call", "id": "a", "name": "look"})
    interactions.fake.script(Wire((start, event("step.delta", index=0, delta=pieces('{"id": 1}')[0]))))
    (picked,) = picks(await interactions.answer(asking(tools=[LOOK])))
    assert picked.cut


async def test_half_of_the_arguments_go_back_as_none_case_145(interactions):
    interactions.fake.script(Calls("look", '{"id": 1'), says("Shorter."))
    (picked,) = picks(await interactions.answer(asking(tools=[LOOK])))
    assert picked.arguments == '{"id": 1'
    hop = Hop("", (picked,), ("Your answer was cut off.",))
    assert words(await interactions.answer(asking(tools=[LOOK], hops=(hop,)))) == ["Shorter."]
    assert interactions.fake.last.results == [("look", "Your answer was cut off.")]


async def test_words_in_the_start_of_a_step_and_steps_of_other_kinds(interactions):
    begun = {"type": "model_output", "content": [{"type": "text", "text": "Good "}]}
    search = step(0, {"type": "google_search_call", "id": "s", "arguments": {"queries": ["tea"]}})
    unknown = step(1, {"type": "a_step_of_tomorrow", "text": "never"}, {"type": "a_delta_of_tomorrow"})
    said = step(2, begun, {"type": "text", "text": "tea."})
    interactions.fake.script(ended(*search, *unknown, *said, status="completed"))
    assert words(await interactions.answer()) == ["Good ", "tea."]


async def test_the_steps_of_an_answer_go_back_as_they_came(interactions):
    thought = step(0, {"type": "thought"}, {"type": "thought_signature", "signature": SIGNATURE})
    said = step(1, {"type": "model_output"}, {"type": "text", "text": "Wait."})
    call = step(2, {"type": "function_call", "id": "a", "name": "look", "arguments": {"id": 1}})
    interactions.fake.script(ended(*thought, *said, *call))
    answer = picks(await interactions.answer(asking(tools=[LOOK])))
    await interactions.answer(asking(tools=[LOOK], hops=(Hop("Wait.", answer, ("seen",)),)))
    assert interactions.fake.last.body["input"][1:] == [
        {"type": "thought", "signature": SIGNATURE},
        {"type": "model_output", "content": [{"type": "text", "text": "Wait."}]},
        {"type": "function_call", "id": "a", "name": "look", "arguments": {"id": 1}},
        {"type": "function_result", "call_id": "a", "name": "look", "result": "seen"},
    ]
