"""What a page received, as a listener would take it in."""

import base64
import json
import re

from demo.speech import testing as speech


def events(frames, kind):
    """The events of one type, in order."""
    return [event for event in map(json.loads, frames) if event["type"] == kind]


def answer_sound(frames):
    """All answer audio, PCM16 at 24 kHz."""
    return b"".join(
        base64.b64decode(event["delta"]) for event in events(frames, "response.output_audio.delta")
    )


def answer_heard(frames):
    """What a listener understands of the answer audio, in lower case."""
    return speech.hear(answer_sound(frames)).lower()


def answer_written(frames):
    """The assistant's transcript as it was streamed."""
    deltas = events(frames, "response.output_audio_transcript.delta")
    return "".join(event["delta"] for event in deltas)


def assert_no_marker(frames):
    """Not one character of a marker, its keyword, or the tool's name in what is said."""
    for frame in frames:
        assert not re.search(r"<<|>>>|VOCERO_MCP|APIPILOT_CALL|ARGUMENTS=", frame, re.IGNORECASE), frame[:300]
    said = answer_written(frames)
    assert "get_metric_history" not in said
    assert "request" not in said
