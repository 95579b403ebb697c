"""One request to a model, over all three adapters: what comes, what goes back, and how it fails."""

import asyncio
import json
import traceback
from contextlib import aclosing
from dataclasses import replace

import pytest
import pytest_asyncio

from conversations.brains.loop import Hop
from conversations.core.transcript import Said
from conversations.tests.fake_models import (
    BREAKS,
    CUT,
    HOLDS,
    PROVIDER_WORDS,
    Fails,
    Tells,
    Thinks,
    calls,
    says,
)
from conversations.tests.providers import (
    KEY,
    KINDS,
    STOCK,
    asking,
    picks,
    provider_at,
    provider_of,
    with_client,
    words,
)
from tools.contract import Tool
from tools.translation import COMPILED

pytestmark = pytest.mark.asyncio(loop_scope="module")

NESTED = {
    "type": "object",
    "properties": {
        "where": {"$ref": "#/$defs/Place"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["where"],
    "$defs": {
        "Place": {
            "type": "object",
            "properties": {"side": {"enum": ["north", "south"], "type": "string"}},
            "required": ["side"],
        }
    },
}
TOOLS = (Tool("look", "Looks.", NESTED, "here"), Tool("now", "The time.", {}, "here"))


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=KINDS)
async def served_provider(request):
    async with provider_of(request.param) as one:
        yield one


@pytest.fixture
def provider(served_provider):
    return served_provider.as_new()


async def test_words_come_one_after_another_while_the_model_still_speaks(provider):
    provider.fake.script((says("It ", "is "), HOLDS))
    stream = provider.brain().stream(asking())
    async with asyncio.timeout(5), aclosing(stream):
        assert [(await anext(stream)).text, (await anext(stream)).text] == ["It ", "is "]


async def test_the_model_reads_instructions_history_and_the_caller_s_words(provider):
    heard = (Said("caller", "Hello?"), Said("assistant", "Good morning."))
    await provider.answer(asking(history=heard))
    assert provider.fake.last.instructions == "Be brief."
    assert provider.fake.last.said == [
        ("user", "Hello?"),
        ("assistant", "Good morning."),
        ("user", "What is new?"),
    ]


async def test_thoughts_are_never_spoken_case_148(provider):
    provider.fake.script((Thinks("The user wants tea."), says("Tea.")))
    assert words(await provider.answer()) == ["Tea."]


async def test_thoughts_alone_are_no_answer_case_148(provider):
    provider.fake.script((Thinks("The user wants tea."),))
    assert "".join(words(await provider.answer())) == ""


async def test_a_tool_is_declared_with_its_whole_schema_and_one_without_parameters_with_none(provider):
    await provider.answer(asking(tools=TOOLS))
    declared = provider.fake.last.tools
    assert declared["now"] is None
    assert '"enum": ["north", "south"]' in json.dumps(declared["look"])


async def test_an_empty_object_of_a_server_s_is_no_parameters(provider):
    empty = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {}}
    await provider.answer(asking(tools=[Tool("now", "The time.", empty, "there")]))
    assert provider.fake.last.tools == {"now": None}


async def test_a_call_comes_whole_after_the_words_before_it(provider):
    provider.fake.script((says("Let me look."), calls("look", {"where": {"side": "north"}}, "c-7")))
    *said, picked = await provider.answer(asking(tools=TOOLS))
    assert words(said) == ["Let me look."]
    assert (picked.id, picked.name, json.loads(picked.arguments), picked.cut) == (
        "c-7",
        "look",
        {"where": {"side": "north"}},
        False,
    )


async def test_parallel_calls_keep_their_own_arguments_and_ids_case_135(provider):
    north, south = ({"where": {"side": side}} for side in ("north", "south"))
    provider.fake.script((calls("look", north), calls("look", south)))
    first, second = picks(await provider.answer(asking(tools=TOOLS)))
    assert [json.loads(one.arguments) for one in (first, second)] == [north, south]
    assert first.id != second.id


async def test_results_go_back_to_their_calls_with_what_the_model_signed(provider):
    provider.fake.script((Thinks("Hm."), says("Wait."), calls("look", {"a": 1}), calls("now")), says("Done."))
    answer = await provider.answer(asking(tools=TOOLS))
    hop = Hop("Wait.", picks(answer), ("a view", "noon"))
    assert words(await provider.answer(asking(tools=TOOLS, hops=(hop,)))) == ["Done."]
    assert provider.fake.last.results == [("look", "a view"), ("now", "noon")]
    assert ("assistant", "Wait.") in provider.fake.last.said


async def test_calls_of_several_hops_stay_apart_where_the_model_counts_anew_each_time(provider):
    provider.fake.script(calls("now", {}, "same"), says("Done."))
    (picked,) = picks(await provider.answer(asking(tools=TOOLS)))
    hops = [Hop("", (picked,), ("noon",)), Hop("", (picked,), ("one",))]
    if provider.name == "interactions":
        hops = [hops[0], Hop("", (replace(picked, id="other", extra=None),), ("one",))]
    await provider.answer(asking(tools=TOOLS, hops=hops))
    assert provider.fake.last.results == [("now", "noon"), ("now", "one")]


async def test_a_call_without_words_goes_back_with_empty_content_case_150(provider):
    provider.fake.script(calls("now"), says("Done."))
    hop = Hop("", picks(await provider.answer(asking(tools=TOOLS))), ("noon",))
    assert words(await provider.answer(asking(tools=TOOLS, hops=(hop,)))) == ["Done."]
    assert provider.fake.refused == []


async def test_a_result_of_a_call_in_text_goes_to_the_model_as_words(provider):
    hop = Hop("<<<CALL>>>", (), ("Result: noon",))
    await provider.answer(asking(hops=(hop,)))
    assert provider.fake.last.said[1:] == [("assistant", "<<<CALL>>>"), ("user", "Result: noon")]


async def test_the_last_answer_may_pick_nothing(provider):
    await provider.answer(asking(tools=TOOLS, tool_choice="none"))
    assert provider.fake.last.choice == "none"
    assert set(provider.fake.last.tools) == {"look", "now"}


async def test_a_call_at_the_token_limit_is_marked_as_cut_case_144(provider):
    provider.fake.script((calls("now"), calls("look", {"where": {"side": "north"}}), CUT))
    assert [one.cut for one in picks(await provider.answer(asking(tools=TOOLS)))] == [False, True]


async def test_a_limit_of_our_own_that_is_reached_cuts_whatever_the_model_says_case_144(provider):
    brain = provider.brain()
    brain.max_output_tokens = 2
    provider.fake.script(calls("look", {"where": {"side": "north"}}))
    (picked,) = picks(await provider.answer(asking(tools=TOOLS), brain))
    # The interactions API says by its status that it reached the limit; the others only by what was used.
    assert picked.cut is (provider.name != "interactions")


@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_model_is_asked_once_more_case_147(provider, status):
    provider.fake.script(Fails(status, {"retry-after": "0"}), says("Here I am."))
    assert words(await provider.answer()) == ["Here I am."]
    assert len(provider.fake.asked) == 2


async def test_a_model_that_stays_busy_is_asked_twice_in_all_case_147(provider):
    provider.fake.script(Fails(503))
    said, failed = await provider.failure()
    assert (said, failed.code, len(provider.fake.asked)) == ("", "model_unavailable", 2)


async def test_a_client_with_retries_of_its_own_is_asked_twice_in_all_case_147(provider):
    provider.fake.script(Fails(503, {"retry-after": "0"}))
    async with with_client(provider, STOCK[provider.name](provider.url)) as stock:
        _, failed = await stock.failure()
    assert (failed.code, len(provider.fake.asked)) == ("model_unavailable", 2)


async def test_nobody_waits_for_a_model_that_asks_for_minutes_case_147(provider):
    provider.fake.script(Fails(429, {"retry-after": "120"}))
    async with asyncio.timeout(2):
        _, failed = await provider.failure()
    assert (failed.code, len(provider.fake.asked)) == ("model_unavailable", 1)


async def test_a_refused_request_is_not_repeated(provider):
    provider.fake.script(Fails(401))
    _, failed = await provider.failure()
    assert (failed.code, len(provider.fake.asked)) == ("model_refused", 1)


async def test_a_failure_told_in_the_stream_ends_it_after_what_was_said_case_147(provider):
    provider.fake.script((says("One moment."), Tells(PROVIDER_WORDS)))
    said, failed = await provider.failure()
    assert (said, failed.code, len(provider.fake.asked)) == ("One moment.", "model_unavailable", 1)


async def test_an_error_object_in_a_good_answer_is_a_failure_case_147(provider):
    provider.fake.script(Fails(200, body={"error": {"code": 429, "message": PROVIDER_WORDS}}))
    _, failed = await provider.failure()
    assert (failed.code, len(provider.fake.asked)) == ("model_unavailable", 2)


@pytest.mark.parametrize("answer", [Fails(500), Fails(403), (says("Well."), Tells(PROVIDER_WORDS))])
async def test_a_failure_repeats_nothing_that_the_provider_wrote_and_no_key_case_147(provider, answer):
    provider.fake.script(answer)
    _, failed = await provider.failure()
    told = "".join(traceback.format_exception(failed))
    assert PROVIDER_WORDS not in told
    assert "sk-" not in told
    assert KEY in str(provider.fake.last.headers)


async def test_a_lost_connection_is_a_failure_and_nothing_is_said_twice(provider):
    provider.fake.script((says("One moment."), BREAKS))
    said, failed = await provider.failure()
    assert (said, failed.code, len(provider.fake.asked)) == ("One moment.", "model_unavailable", 1)


async def test_a_model_that_cannot_be_reached_is_unavailable(provider):
    async with provider_at(provider.name, "http://127.0.0.1:9") as nobody:
        assert (await nobody.failure())[1].code == "model_unavailable"


async def test_a_model_that_falls_silent_is_unavailable(provider):
    provider.fake.script((says("One moment."), HOLDS))
    async with asyncio.timeout(5), provider_at(provider.name, provider.url, seconds=0.3) as hurried:
        said, failed = await hurried.failure()
    assert (said, failed.code) == ("One moment.", "model_unavailable")


async def test_closing_the_stream_hangs_up_at_once(provider):
    provider.fake.script((says("It is "), HOLDS))
    stream = provider.brain().stream(asking())
    await anext(stream)
    await provider.fake.holding.wait()
    await stream.aclose()
    async with asyncio.timeout(2):
        await provider.fake.gone.wait()


async def test_a_cancelled_turn_hangs_up_at_once(provider):
    provider.fake.script((says("It is "), HOLDS))
    turn = asyncio.create_task(provider.answer())
    await provider.fake.holding.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    async with asyncio.timeout(2):
        await provider.fake.gone.wait()


async def test_a_schema_that_this_model_cannot_read_leaves_out_its_tool_only(provider):
    if provider.name == "openai":
        provider.adapter = type("Narrow", (provider.adapter,), {"dialect": COMPILED})
    never = Tool(
        "never", "Nothing fits it.", {"type": "object", "properties": {"a": False}, "required": ["a"]}, "x"
    )
    await provider.answer(asking(tools=[never, *TOOLS]))
    assert set(provider.fake.last.tools) == {"look", "now"}


async def test_moving_a_brain_changes_only_its_base_class(provider):
    class Mine(provider.adapter):
        max_output_tokens = 50

    provider.fake.script(says("Mine."))
    assert words(await provider.answer(brain=provider.brain(Mine))) == ["Mine."]
