"""A backend that refuses the sign-in in words: said again, the caller is told; nothing is renewed."""

import json

import pytest

from conversations.realtime.words import FOR_CALLER
from conversations.tests.live_call import METRIC, OXYGEN, QUESTION, LiveCall
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_events import Calls, Says
from conversations.tests.virtual_time import in_virtual_time
from tools.contract import ToolResult
from tools.testing import MemorySource

pytestmark = pytest.mark.every_dialect

WORDS = "Unauthorized access"
REFUSED = ToolResult(WORDS, is_error=True)


def a_portal(*answered):
    """A service whose model tries so many times, in a turn each, and a source that answers like this."""
    replies = [
        reply
        for number in range(len(answered))
        for reply in (Calls.one("get_metric_history", {"request": {"n": number}}), Says("So it is."))
    ]
    left = iter(answered)

    async def answer(_arguments, _context):
        return next(left)

    return MemoryService(*replies), MemorySource((METRIC, answer))


async def turns(call, *kinds):
    """How each of so many turns ended its tool call: `failed` or `completed`."""
    ends = []
    for kind in kinds:
        call.types(QUESTION)
        ends.append(await call.shown(f"vocero.tool.{kind}"))
        await call.shown("response.output_audio_transcript.done")
        await call.shown("response.done")
    return ends


@in_virtual_time
async def test_a_sign_in_refused_in_words_again_and_again_is_told_to_the_caller_case_101():
    service, source = a_portal(REFUSED, REFUSED, REFUSED)
    async with LiveCall(service, source) as call:
        line = await call.ready()
        failed = await turns(call, "failed", "failed", "failed")
        outputs = [
            json.loads(event["item"]["output"]) for event in line.sent if "output" in event.get("item", {})
        ]
    assert [one["code"] for one in failed] == ["tool_error"] * 3
    hint = FOR_CALLER["unauthorized"]
    assert [one["message"] for one in failed] == [FOR_CALLER["tool_error"], hint, hint]
    assert [one["error"] for one in outputs] == [{"code": "tool_error", "message": WORDS}] * 3
    assert call.unauthorized == 0, "words end no conversation, and no token is renewed for them"
    assert len(source.calls) == 3, "nothing was repeated"


@in_virtual_time
async def test_a_call_that_succeeds_in_between_starts_the_count_anew_case_101():
    service, source = a_portal(REFUSED, ToolResult(OXYGEN), REFUSED)
    async with LiveCall(service, source) as call:
        await call.ready()
        first, _, again = await turns(call, "failed", "completed", "failed")
    assert first["message"] == again["message"] == FOR_CALLER["tool_error"]
