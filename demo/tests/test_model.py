"""The stand-in for a language model: it speaks OpenAI's chat completions, and plans like somebody useful."""

import json

import httpx2
import pytest
from openai import AsyncOpenAI, AuthenticationError, BadRequestError, InternalServerError, RateLimitError

from demo.aquaportal.access import Refusal
from demo.aquaportal.data.farm import CALLERS
from demo.aquaportal.tools import answer
from demo.model.chat import ChatRequest
from demo.model.replies import LOOKING, Called, Reply, planned
from demo.model.server import NAME
from demo.model.testing import KEY, running_model
from demo.tests.planner_talk import TODAY
from demo.tests.speech_caller import DECLARED, failed, labelled

ADMINISTRATOR, NORTH, UNASSIGNED, _ = CALLERS
TOOLS = [
    {"type": "function", "function": {k: v for k, v in tool.items() if k != "type"}} for tool in DECLARED
]
OXYGEN = "What is the oxygen level in cage four?"


@pytest.fixture(scope="module")
def service():
    with running_model() as running:
        yield running


@pytest.fixture
def model(service):
    service.reset()
    yield service
    service.faults.release()


@pytest.fixture
async def client(model):
    async with AsyncOpenAI(base_url=model.base_url, api_key=KEY, max_retries=0) as client:
        yield client


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def assistant_calls(name, arguments):
    function = {"name": name, "arguments": arguments}
    calls = [{"id": f"c-{name}", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def tool(content):
    name = content.partition("from tool ")[2].partition(".")[0]
    return {"role": "tool", "tool_call_id": f"c-{name}", "content": content}


def plan(messages, **more):
    return planned(ChatRequest(model=NAME, messages=messages, **{"tools": TOOLS, **more}), TODAY)


def told(caller, call):
    arguments = json.loads(call.arguments)
    try:
        return labelled(call.name, answer(call.name, arguments, caller, TODAY))
    except Refusal as refusal:
        return failed("tool_error", str(refusal))


def talk(caller, *questions):
    """A conversation whose history keeps words only; the last turn's calls, and its last words."""
    history, made, said = [], [], ""
    for question in questions:
        messages, made = [*history, user(question)], []
        while (reply := plan(messages)).calls:
            assert len(made) < 6, made
            ids = [f"call_{len(made)}_{number}" for number in range(len(reply.calls))]
            calls = [
                {"id": known, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for known, c in zip(ids, reply.calls, strict=True)
            ]
            messages.append({"role": "assistant", "content": reply.text or None, "tool_calls": calls})
            for known, call in zip(ids, reply.calls, strict=True):
                made.append(call)
                messages.append({"role": "tool", "tool_call_id": known, "content": told(caller, call)})
        said = reply.text
        history += [user(question), assistant(said)]
    return made, said


# ---- as a planner


def test_it_says_a_word_and_picks_the_tool_that_fits():
    reply = plan([user(OXYGEN)])
    assert reply.text == LOOKING
    assert reply.calls == (
        Called("get_metric_history", '{"request": {"metric": "oxygen", "cage_number": 4}}'),
    )


def test_it_lists_what_it_needs_an_id_of_picks_and_reads_out():
    identified = {"type": "object", "properties": {"note_id": {"type": "string"}}, "required": ["note_id"]}
    tools = [
        {"type": "function", "function": {"name": "list_notes", "description": "Lists the notes."}},
        {
            "type": "function",
            "function": {"name": "read_note", "description": "Reads a note.", "parameters": identified},
        },
    ]
    asked = user("Read the note about nets.")
    listed = plan([asked], tools=tools)
    assert listed.calls == (Called("list_notes"),)
    rows = {"notes": [{"note_id": "n1", "title": "Boats"}, {"note_id": "n2", "title": "Nets"}]}
    hop = [assistant_calls("list_notes", "{}"), tool(labelled("list_notes", rows))]
    picked = plan([asked, *hop], tools=tools)
    assert picked.calls == (Called("read_note", '{"note_id": "n2"}'),)
    hop += [assistant_calls("read_note", '{"note_id": "n2"}'), tool(labelled("read_note", "Mend the nets."))]
    assert plan([asked, *hop], tools=tools) == Reply("Mend the nets.")


def test_it_reads_on_where_the_last_page_ended_though_its_history_holds_words_only():
    first, before = talk(ADMINISTRATOR, "Read the transcript of the latest episode.")
    made, said = talk(ADMINISTRATOR, "Read the transcript of the latest episode.", "Continue.")
    assert [call.name for call in made] == ["read_podcast_transcript", "read_podcast_transcript"]
    offset = json.loads(made[-1].arguments)["request"]["offset"]
    assert offset > 0
    assert json.loads(first[-1].arguments)["request"].get("offset", 0) == 0
    assert said != before


def test_it_asks_which_of_several_is_meant_and_takes_the_answer():
    question = "Tell me more about the north center report."
    _, asked = talk(ADMINISTRATOR, question)
    assert asked.endswith("?")
    made, said = talk(ADMINISTRATOR, question, "The weekly one.")
    assert made[-1].name == "get_report"
    assert "week" in said.lower()


def test_it_knows_what_the_second_of_a_list_was():
    made, said = talk(ADMINISTRATOR, "List the latest reports.", "Tell me more about the second one.")
    assert [call.name for call in made] == ["list_reports", "get_report"]
    assert said


def test_a_refusal_is_told_in_words():
    _, said = talk(NORTH, OXYGEN)
    assert said.endswith(".")
    assert "{" not in said


def test_what_changes_something_is_never_done_again_to_remember():
    log = {
        "name": "log_feeding",
        "description": "Notes that a cage was fed.",
        "parameters": {"type": "object", "properties": {"cage": {"type": "integer"}}, "required": ["cage"]},
    }
    tools = [{"type": "function", "function": log}]
    reply = plan([user("Log feeding of cage four."), assistant("Done."), user("Yes.")], tools=tools)
    assert reply.calls == ()


def test_it_picks_nothing_where_it_may_not():
    assert plan([user(OXYGEN)], tool_choice="none").calls == ()


def test_it_writes_a_marker_where_its_instructions_ask_for_one():
    tool = json.dumps({k: v for k, v in DECLARED[0].items() if k != "type"})
    rules = f"<<<VOCERO_MCP_CALL:NAME=tool_name,ARGUMENTS={{}}>>>\nTools, one JSON object a line:\n{tool}"
    system = {"role": "system", "content": rules}
    reply = plan([system, user("List the latest reports.")], tools=None)
    assert reply.text.startswith("<<<VOCERO_MCP_CALL:NAME=list_reports,ARGUMENTS={")
    assert reply.calls == ()


def test_of_calls_side_by_side_only_one_is_made_where_they_are_not_wanted():
    both = plan([user("Compare the oxygen in cage one and cage five.")])
    one = plan([user("Compare the oxygen in cage one and cage five.")], parallel_tool_calls=False)
    assert (len(both.calls), len(one.calls)) == (2, 1)


# ---- on the wire


async def test_the_stock_client_gets_a_whole_answer_with_its_usage(client):
    found = await client.chat.completions.create(model=NAME, messages=[user(OXYGEN)], tools=TOOLS)
    (choice,) = found.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls[0].function.name == "get_metric_history"
    assert found.usage.total_tokens == found.usage.prompt_tokens + found.usage.completion_tokens > 0


async def test_the_stock_client_gets_a_stream_of_words_and_of_calls_side_by_side(client):
    question = "Compare the oxygen in cage one and cage five."
    asked = {"model": NAME, "messages": [user(question)], "tools": TOOLS}
    stream = await client.chat.completions.create(
        **asked, stream=True, stream_options={"include_usage": True}
    )
    text, arguments, reasons, usage = "", {}, [], None
    async for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reasons += [choice.finish_reason] if choice.finish_reason else []
            for call in choice.delta.tool_calls or ():
                arguments[call.index] = arguments.get(call.index, "") + (call.function.arguments or "")
    assert text == LOOKING
    assert [json.loads(text)["request"]["cage_number"] for text in arguments.values()] == [1, 5]
    assert reasons == ["tool_calls"]
    assert usage.completion_tokens > 0


async def test_a_script_goes_before_the_planner(model, client):
    model.answers(Reply.picking("show_cage", "Look.", cage=4), Reply("Enough.", finish="length"))
    first = await client.chat.completions.create(model=NAME, messages=[user("?")])
    second = await client.chat.completions.create(model=NAME, messages=[user("?")])
    assert first.choices[0].message.tool_calls[0].function.arguments == '{"cage": 4}'
    assert (second.choices[0].message.content, second.choices[0].finish_reason) == ("Enough.", "length")
    assert [body["messages"] for body in model.model.seen] == [[user("?")], [user("?")]]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"status": 429, "retry_after": 1}, RateLimitError),
        ({"status": 503}, InternalServerError),
    ],
)
async def test_it_fails_on_purpose_as_a_real_one_does(model, client, fault, error):
    model.faults.add("status", on="completions", times=1, **fault)
    with pytest.raises(error):
        await client.chat.completions.create(model=NAME, messages=[user(OXYGEN)])
    assert (await client.chat.completions.create(model=NAME, messages=[user("Hello.")])).choices


async def test_a_wrong_key_and_a_body_that_is_none_are_refused(model, client):
    with pytest.raises(AuthenticationError):
        await client.with_options(api_key="another").chat.completions.create(model=NAME, messages=[user("?")])
    with pytest.raises(BadRequestError):
        await client.chat.completions.create(model=NAME, messages=[])
    assert httpx2.post(f"{model.base_url}/chat/completions", json={}, trust_env=False).status_code == 401


async def test_a_client_that_leaves_in_the_middle_is_noticed(model, client):
    model.answers(Reply("One moment.", hangs=True))
    stream = await client.chat.completions.create(model=NAME, messages=[user("?")], stream=True)
    async for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    await stream.close()
    model.wait_gone()
