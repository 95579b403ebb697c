"""Talking to the planner in tests: items, decisions, and whole conversations over the demo's own data."""

import json
from datetime import date

from demo.aquaportal.access import Refusal
from demo.aquaportal.data.farm import CALLERS
from demo.aquaportal.tools import answer
from demo.speech.planner import CallTools, Context, Say, decide, declared
from demo.tests.speech_caller import DECLARED, failed, labelled

TODAY = date(2026, 8, 5)
TOOLS = declared(DECLARED)
METRIC, REPORT = "get_metric_history", "get_report"
ADMINISTRATOR, NORTH_REPORTS, UNASSIGNED, _ = CALLERS


def user(text):
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def assistant(text):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_audio", "transcript": text}]}


def call(name, arguments, call_id="c1"):
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


def output(text, call_id="c1"):
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def decided(*items, tools=TOOLS, **context):
    return decide(Context(items, tools, TODAY, **context))


def picked(question, tools=TOOLS):
    """The tool and the nested request of the one call for a question."""
    decision = decided(user(question), tools=tools)
    assert isinstance(decision, CallTools), decision
    (only,) = decision.calls
    return only.name, only.arguments.get("request", only.arguments)


def spoken(*items, **context):
    decision = decided(*items, **context)
    assert isinstance(decision, Say), decision
    return decision.text


def conversation(caller, *questions, tools=TOOLS):
    """The items and the last words of a conversation with the demo's own data."""
    items, words = [], ""
    for question in questions:
        items.append(user(question))
        while isinstance(decision := decided(*items, tools=tools), CallTools):
            for made in decision.calls:
                call_id = f"c{len(items)}"
                items += [call(made.name, made.arguments, call_id), output(answered(caller, made), call_id)]
        words = decision.text
        items.append(assistant(words))
    return items, words


def answered(caller, made):
    try:
        return labelled(made.name, answer(made.name, made.arguments, caller, TODAY))
    except Refusal as refusal:
        return failed("tool_error", str(refusal))


def calls_of(items):
    return [
        (item["name"], json.loads(item["arguments"])) for item in items if item["type"] == "function_call"
    ]
