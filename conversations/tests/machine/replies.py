"""What a model may answer, cut into pieces anywhere: words, markers whole or broken, native calls."""

import base64
import itertools
import json
import random
from dataclasses import dataclass

from hypothesis import strategies as st

from conversations.tests import speech_events as ga
from conversations.tests.core_play import marker

ARGUMENT = "ARG-ONLY"
THOUGHT = "THOUGHT-ONLY"
PLANTED = "delete_account"
SEARCH = "web_search"
# The last of them needs the caller's tap, whose sheet shows its arguments.
DELETE = "delete_item"
SERVER_TOOLS = ("get_report", "list_reports", DELETE)
SECRET_ARGUMENTS = json.dumps({"request": {"id": ARGUMENT}})
# Sound that belongs to what must not be heard, and how it looks in base64.
SECRET_SOUND = "////"
AUDIO_DELTA = "response.output_audio.delta"


@dataclass(frozen=True)
class Words:
    """One message. `cut` 0 is one piece, 1 single letters, any other number a chance of its own.

    Each piece has so many milliseconds of `sound` behind it, or, `ahead`, before it; with `whole` the text
    comes without deltas, at its end. With `secret` the sound of a marker is known to come after its words.
    """

    text: str
    cut: int = 0
    sound: int = 40
    ahead: bool = False
    whole: bool = False
    secret: bool = True


@dataclass(frozen=True)
class Pick:
    """One native call, told in the forms that `told` names: all, twice, or only one of them."""

    name: str
    arguments: str
    told: str = "all"


@dataclass(frozen=True)
class Reply:
    """One response; one that does not end goes on until it is cancelled."""

    parts: tuple = ()
    status: str = "completed"
    code: str = ""
    ends: bool = True


def pieces_of(text, cut):
    if cut == 0 or len(text) < 2:
        return [text] if text else []
    if cut == 1:
        return list(text)
    chance = random.Random(cut)
    places = sorted({chance.randrange(1, len(text)) for _ in range(chance.randrange(1, 9))})
    edges = [0, *places, len(text)]
    return [text[start:end] for start, end in itertools.pairwise(edges)]


def secret_span(text):
    """From where to where a text is certainly not for the caller; brackets alone may be anything."""
    start = text.find("<<<") + len("<<<")
    if start >= len("<<<"):
        return start, len(text)
    start, end = text.find("<think>"), text.find("</think>")
    return (start, end if end > start else len(text)) if start >= 0 else (len(text), len(text))


def sound(milliseconds, secret):
    size = milliseconds * ga.BYTES_A_MILLISECOND
    return base64.b64encode(b"\xff" * size).decode() if secret else ga.sound(milliseconds)


def said(response_id, item_id, index, words, modality):
    """The frames of one message."""
    frames = ga.spoken(response_id, item_id, ga.Says(words.text, 1, 0), modality)
    frames = [{**frame, "output_index": index} if "output_index" in frame else frame for frame in frames]
    if not words.text:
        return frames
    (place,) = [number for number, frame in enumerate(frames) if frame["type"].endswith(".delta")]
    return [*frames[:place], *deltas(frames[place], words, modality), *frames[place + 1 :]]


def deltas(delta, words, modality):
    frames, at = [], 0
    start, end = secret_span(words.text)
    ordered = words.secret and not (words.ahead or words.whole)
    for piece in pieces_of(words.text, words.cut):
        secret = start <= at and (at + len(piece) < end or end == len(words.text)) and ordered
        spoken = {**delta, "type": AUDIO_DELTA, "delta": sound(words.sound, secret)}
        sounds = [spoken] if modality == "audio" and words.sound else []
        texts = [] if words.whole else [{**delta, "delta": piece}]
        frames += sounds + texts if words.ahead else texts + sounds
        at += len(piece)
    return frames


def picked(response_id, item, index, told):
    """The frames of one native call."""
    frames = ga.called(response_id, item, index)
    match told:
        case "twice":
            return frames + frames
        case "arguments":
            return frames[:4]
        case "item":
            return [*frames[:2], *frames[4:]]
        case "end":
            return []
    return frames


def frames_of(reply, response_id, numbers, modality):
    """All frames of a response between its beginning and its end, and the items that it leaves."""
    frames, output = [], []
    for part in reply.parts:
        item_id = numbers.next("item")
        if isinstance(part, Words):
            frames += said(response_id, item_id, len(output), part, modality)
            output.append(ga.message(item_id, part.text, modality))
        else:
            item = ga.call_item(item_id, numbers.next("call"), part.name, part.arguments)
            frames += picked(response_id, item, len(output), part.told)
            output.append(item)
    return frames, output


PLAIN = st.sampled_from(
    [
        "It is eight milligrams per litre.",
        "Is 2 < 3? Yes, and a > b.",
        "Eight.",
        "",
        "The report says: vocero is fine, mcp too.",
        "The oxygen in cage four was seven point four at noon, and it rises a little every evening. " * 4,
    ]
)
MARKED = st.sampled_from(
    [
        marker(arguments=SECRET_ARGUMENTS),
        "One moment. " + marker(arguments=SECRET_ARGUMENTS),
        "One moment. " + marker(arguments=SECRET_ARGUMENTS) + " Done. " + SECRET_ARGUMENTS,
        marker(arguments='{"n":1}') + marker(arguments='{"n":2}'),
        marker("list_reports", "{}"),
        marker("drop_all", SECRET_ARGUMENTS),
        marker(arguments='{"a":1,"a":"' + ARGUMENT + '"}'),
        marker(arguments='{"text":"}>>> ' + ARGUMENT + '"}'),
        "Wait. MCP_CALL: get_report " + SECRET_ARGUMENTS,
        "<<<VOCEROMCPCALL:NAME=get_report,ARGUMENTS=" + SECRET_ARGUMENTS + ">>>",
        "< VOCERO_MCP_CALL get_report " + SECRET_ARGUMENTS,
    ]
)
UNFINISHED = st.sampled_from(
    [
        "One moment. <<<VOCERO_MCP",
        "One moment. <<<",
        "One moment. <<<VOCERO_MCP_CALL:NAME=get",
        "<<<VOCERO_MCP_CALL:NAME=get_report,ARGUMENTS=" + SECRET_ARGUMENTS[:-1],
        "Let me see. vocero_mcp",
    ]
)
THINKING = st.sampled_from(
    [
        f"<think>{THOUGHT}</think>Seven.",
        f"Well. <think>{THOUGHT} <<<VOCERO_MCP_CALL:NAME=drop_all",
        f"<think>{THOUGHT}</think>" + marker(arguments=SECRET_ARGUMENTS),
    ]
)
TEXTS = st.one_of(PLAIN, PLAIN, MARKED, UNFINISHED, THINKING)
WORDS = st.builds(
    Words,
    TEXTS,
    cut=st.sampled_from([0, 1, *range(2, 40)]),
    sound=st.sampled_from([40, 0, 400]),
    ahead=st.sampled_from([False, False, False, True]),
    whole=st.sampled_from([False, False, False, True]),
)
SERVERS_PICKS = st.builds(
    Pick,
    st.sampled_from(["get_report", "get_report", "list_reports", "drop_all"]),
    st.sampled_from([SECRET_ARGUMENTS, '{"n":1}', '{"n":2}', "{}", "", "{", '{"request":7}']),
    st.sampled_from(["all", "all", "twice", "arguments", "item", "end"]),
)
BROWSERS_PICKS = st.builds(
    Pick, st.just(SEARCH), st.sampled_from(['{"query":"lice"}', "{}", "{"]), st.sampled_from(["all", "end"])
)
DELETIONS = st.builds(
    Pick,
    st.just(DELETE),
    st.sampled_from(['{"item":7}', '{"item":8}', "{}", "{"]),
    st.sampled_from(["all", "twice", "end"]),
)
PICKS = st.one_of(SERVERS_PICKS, SERVERS_PICKS, BROWSERS_PICKS, DELETIONS)
GOOD_PICK = st.builds(
    Pick,
    st.sampled_from(SERVER_TOOLS[:-1]),
    st.sampled_from([SECRET_ARGUMENTS, '{"n":1}', '{"n":2}', "{}"]),
    st.sampled_from(["all", "all", "end"]),
)
PARTS = st.one_of(
    st.tuples(WORDS),
    st.tuples(WORDS),
    st.tuples(GOOD_PICK),
    st.tuples(WORDS, GOOD_PICK),
    st.tuples(DELETIONS),
    st.lists(PICKS, min_size=1, max_size=3).map(tuple),
    st.lists(st.one_of(WORDS, PICKS), max_size=3).map(tuple),
)
ENDS = st.sampled_from([("completed", "")] * 8 + [("failed", "rate_limit_exceeded"), ("incomplete", "")])
REPLIES = st.builds(
    lambda parts, end, ends: Reply(parts, *end, ends), PARTS, ENDS, st.sampled_from([True] * 7 + [False])
)
