"""What a service leaves out of its answers, told all the same: GA's events, whole and in GA's order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conversations.core.events import AudioDelta
from conversations.core.gate import MOST_TEXT, PIECE_COST
from conversations.core.recent import Recent
from conversations.realtime.deltas import Piece
from conversations.realtime.dialects import Traits

ANSWERS = 64
ITEMS = 128  # Of one answer; what comes beyond them is passed as it is.
ENDED = 256

Told = dict[str, Any]

_TRANSCRIPT, _TEXT, _AUDIO = (
    "response.output_audio_transcript",
    "response.output_text",
    "response.output_audio",
)
_DONE = {"audio": (f"{_TRANSCRIPT}.done", "transcript"), "text": (f"{_TEXT}.done", "text")}


@dataclass(slots=True)
class _Item:
    """An item of an answer, and what of it was told; the words of a `chunked` one came in whole pieces."""

    item_id: str
    index: int
    kind: str = "audio"
    texts: list[str] = field(default_factory=list)
    call: Told | None = None
    added: bool = False
    part_added: bool = False
    sounding: bool = False
    sound_done: bool = False
    chunked: bool = False
    text_done: bool = False
    part_done: bool = False
    done: bool = False
    size: int = 0

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def keep(self, text: str) -> None:
        """One more piece, as long as it is of an answer that a caller may hear."""
        self.size += len(text) + PIECE_COST
        if self.size <= MOST_TEXT:
            self.texts.append(text)


@dataclass(slots=True)
class _Answer:
    """A response that runs."""

    response_id: str
    asked: bool
    items: dict[str, _Item] = field(default_factory=dict)

    def item(self, item_id: str) -> _Item:
        if item_id in self.items:
            return self.items[item_id]
        item = _Item(item_id, len(self.items))
        if len(self.items) < ITEMS:
            self.items[item_id] = item
        return item


class Completion:
    """One session's answers, event by event; `traits` are what the service was seen to tell by itself.

    Every answer is announced. The items and parts of a `bare` service, where it turns out not to tell them,
    are told in its place.
    """

    def __init__(self, new_id: Callable[[str], str], bare: bool) -> None:
        self._new_id, self._bare = new_id, bare
        self._answers: dict[str, _Answer] = {}
        self._ended: Recent[None] = Recent(ENDED)
        self._asked = 0
        self._created: Recent[str | None] = Recent(ENDED)
        self.traits = Traits()

    @property
    def _fills(self) -> bool:
        """Whether items and parts are told here."""
        return self._bare and self.traits.items is False

    def asked(self) -> None:
        """A response was asked for: the next one does not come by itself."""
        self._asked += 1

    def goes_on(self, piece: Piece) -> bool:
        """Whether nothing must be told before this piece, since more of the same was told already."""
        answer = self._answers.get(piece.response_id)
        item = answer.items.get(piece.item_id) if answer is not None else None
        if item is None or isinstance(piece, AudioDelta):
            return item is not None and item.sounding
        if not item.texts or piece.content_index:
            return False
        item.keep(piece.text)
        return True

    def whole(self, event: Told) -> list[Told]:
        """The events that this one of the service's stands for; `event` itself where it needs no other."""
        complete = self._COMPLETERS.get(event["type"])
        return complete(self, event) if complete is not None else [event]

    # ---- answers

    def _response_created(self, event: Told) -> list[Told]:
        response_id = str(event["response"].get("id") or "")
        if response_id in self._answers:
            return []
        self._begin(response_id, announced=True)
        return [event]

    def _begin(self, response_id: str, announced: bool) -> None:
        asked = self._asked > 0
        self._asked = max(0, self._asked - 1)
        if not asked and self.traits.announces is None:
            self.traits.announces = announced
        self._answers[response_id] = _Answer(response_id, asked)
        if len(self._answers) > ANSWERS:
            del self._answers[next(iter(self._answers))]

    def _answer(self, event: Told) -> tuple[_Answer | None, list[Told]]:
        """The answer that an event is of, and its announcement where there was none; None once it ended."""
        response_id = str(event.get("response_id") or "")
        if response_id in self._ended:
            return None, []
        if response_id in self._answers:
            return self._answers[response_id], []
        self._begin(response_id, announced=False)
        return self._answers[response_id], [self._announcement(response_id)]

    def _announcement(self, response_id: str) -> Told:
        response = {"id": response_id, "object": "realtime.response", "status": "in_progress"}
        return self._event("response.created", response={**response, "status_details": None, "output": []})

    def _response_done(self, event: Told) -> list[Told]:
        response = event["response"]
        response_id, output = str(response.get("id") or ""), response.get("output") or []
        answer = self._answers.pop(response_id, None)
        if response_id:
            self._ended.put(response_id, None)
        if answer is None:
            # A failure, or calls, of which nothing was told before.
            untold = output or response.get("status") == "failed"
            return [self._announcement(response_id), event] if untold else [event]
        if not self._fills:
            return [event]
        status = "completed" if response.get("status") == "completed" else "incomplete"
        closing = [one for item in answer.items.values() for one in self._closed(answer, item, status)]
        told = [_as_item(item, status) for item in answer.items.values() if item.done or item.call is None]
        if told and not output:
            event = {**event, "response": {**response, "output": told}}
        return [*closing, event]

    # ---- items and parts

    def _item_added(self, event: Told) -> list[Told]:
        answer, before = self._answer(event)
        if answer is None:
            return [event]
        if self.traits.items is None:
            self.traits.items = True
        item = answer.item(str(event["item"].get("id") or ""))
        item.added = True
        if event["item"].get("type") == "function_call":
            item.call = event["item"]
        return [*before, event]

    def _item_done(self, event: Told) -> list[Told]:
        answer, before = self._answer(event)
        item_id = str(event["item"].get("id") or "")
        if answer is not None and event["item"].get("type") == "function_call":
            item = answer.item(item_id)
            item.call, item.done = event["item"], True
        if answer is None or item_id not in self._created:
            return [*before, event]
        previous = self._created.take(item_id)
        done = self._event("conversation.item.done", previous_item_id=previous, item=event["item"])
        return [*before, event, done]

    def _part(self, event: Told) -> list[Told]:
        _, before = self._answer(event)
        return [*before, event]

    # ---- words and sound

    def _words(self, event: Told) -> list[Told]:
        """A piece of an answer's words."""
        kind = "text" if event["type"] == f"{_TEXT}.delta" else "audio"
        answer, item, before = self._spoken(event, kind)
        if answer is None or item is None:
            return [*before, event]
        if kind == "audio" and self.traits.deltas is None:
            self.traits.deltas = True
        item.keep(str(event.get("delta") or ""))
        return [*before, event]

    def _words_done(self, event: Told) -> list[Told]:
        """The end of a part's words; or, from a service without deltas, one more piece of them."""
        kind = "text" if event["type"] == f"{_TEXT}.done" else "audio"
        text = str(event.get(_DONE[kind][1]) or "")
        answer, item, before = self._spoken(event, kind)
        if answer is None or item is None or not self._fills:
            return [*before, event]
        if item.text_done or not text or (item.texts and not item.chunked):
            item.text_done = True
            return [*before, event]
        if kind == "audio" and self.traits.deltas is None:
            self.traits.deltas = False
        item.chunked = True
        # What comes in pieces was cut between words.
        joined = text if not item.texts or item.text[-1:].isspace() or text[:1].isspace() else f" {text}"
        item.keep(joined)
        rest = {key: value for key, value in event.items() if key not in ("transcript", "text")}
        return [*before, {**rest, "type": event["type"].removesuffix("done") + "delta", "delta": joined}]

    def _sound(self, event: Told) -> list[Told]:
        answer, item, before = self._spoken(event, "audio", sound=True)
        if answer is None or item is None:
            return [*before, event]
        item.sounding = True
        # Some count their pieces where GA counts the parts of an item.
        return [*before, {**event, "content_index": 0} if event.get("content_index") else event]

    def _sound_done(self, event: Told) -> list[Told]:
        answer, before = self._answer(event)
        item = answer.items.get(str(event.get("item_id") or "")) if answer is not None else None
        never_spoke = item is None or item.call is not None or item.sound_done
        if answer is not None and never_spoke and self._fills:
            return before
        if item is not None:
            item.sound_done = True
        return [*before, event]

    def _spoken(
        self, event: Told, kind: str, sound: bool = False
    ) -> tuple[_Answer | None, _Item | None, list[Told]]:
        """The item that is spoken, and what must be told of it before its first words or sound."""
        answer, before = self._answer(event)
        if answer is None or (event.get("content_index") and not sound):
            return answer, None, before
        self.traits.items = self.traits.items or False
        item = answer.item(str(event.get("item_id") or ""))
        if not self._fills:
            return answer, item, before
        if not item.added:
            item.added, item.kind = True, kind
            shape = _as_item(item, "in_progress")
            before.append(self._of("response.output_item.added", answer, item, item={**shape, "content": []}))
        if not item.part_added:
            item.part_added, item.kind = True, kind
            before.append(self._at("response.content_part.added", answer, item, part=_as_part(item, "")))
        return answer, item, before

    # ---- calls

    def _call(self, event: Told) -> list[Told]:
        """A call's arguments; one whose item was not told is told whole here."""
        answer, before = self._answer(event)
        if answer is None:
            return [event]
        item_id = str(event.get("item_id") or "")
        known = answer.items.get(item_id)
        if (known is not None and known.call is not None) or event["type"].endswith(".delta"):
            return [*before, event]
        self.traits.items = self.traits.items or False
        if not self._fills:
            return [*before, event]
        # Some give a call the id of what is spoken beside it.
        item = answer.item(f"item_{event.get('call_id') or self._new_id('item')}")
        item.added = item.done = True
        shape = {"id": item.item_id, "object": "realtime.item", "type": "function_call"}
        about = {name: event.get(name) for name in ("call_id", "name", "arguments")}
        item.call = {**shape, **about, "status": "completed"}
        begun = {**item.call, "arguments": "", "status": "in_progress"}
        return [
            *before,
            self._of("response.output_item.added", answer, item, item=begun),
            {**event, "item_id": item.item_id, "output_index": item.index},
            self._of("response.output_item.done", answer, item, item=item.call),
        ]

    # ---- the conversation's items

    def _item_created(self, event: Told) -> list[Told]:
        """Before GA an item was told once; what is not finished yet is done with the answer's item."""
        item, previous = event["item"], event.get("previous_item_id")
        added = {**event, "type": "conversation.item.added"}
        if item.get("status") == "in_progress":
            self._created.put(str(item.get("id") or ""), previous)
            return [added]
        return [added, self._event("conversation.item.done", previous_item_id=previous, item=item)]

    # ---- endings

    def _closed(self, answer: _Answer, item: _Item, status: str) -> list[Told]:
        # A call that was cut off before its arguments is none.
        if item.done or not item.added or item.call is not None:
            return []
        item.done = True
        closing = self._closed_part(answer, item)
        whole = _as_item(item, status)
        return [*closing, self._of("response.output_item.done", answer, item, item=whole)]

    def _closed_part(self, answer: _Answer, item: _Item) -> list[Told]:
        closing = self._closed_text(answer, item)
        if item.part_added and not item.part_done:
            item.part_done = True
            done = self._at("response.content_part.done", answer, item, part=_as_part(item, item.text))
            closing.append(done)
        return closing

    def _closed_text(self, answer: _Answer, item: _Item) -> list[Told]:
        closing: list[Told] = []
        if item.sounding and not item.sound_done:
            item.sound_done = True
            closing.append(self._at(f"{_AUDIO}.done", answer, item))
        if item.texts and not item.text_done:
            item.text_done = True
            name, key = _DONE[item.kind]
            closing.append(self._at(name, answer, item, **{key: item.text}))
        return closing

    # ---- events of our own

    def _event(self, name: str, **fields: Any) -> Told:
        return {"type": name, "event_id": self._new_id("event"), **fields}

    def _of(self, name: str, answer: _Answer, item: _Item, /, **fields: Any) -> Told:
        return self._event(name, response_id=answer.response_id, output_index=item.index, **fields)

    def _at(self, name: str, answer: _Answer, item: _Item, /, **fields: Any) -> Told:
        return self._of(name, answer, item, item_id=item.item_id, content_index=0, **fields)

    _COMPLETERS: Mapping[str, Callable[[Completion, Told], list[Told]]] = {
        "response.created": _response_created,
        "response.done": _response_done,
        "response.output_item.added": _item_added,
        "response.output_item.done": _item_done,
        "response.content_part.added": _part,
        "response.content_part.done": _part,
        f"{_TRANSCRIPT}.delta": _words,
        f"{_TRANSCRIPT}.done": _words_done,
        f"{_TEXT}.delta": _words,
        f"{_TEXT}.done": _words_done,
        f"{_AUDIO}.delta": _sound,
        f"{_AUDIO}.done": _sound_done,
        "response.function_call_arguments.delta": _call,
        "response.function_call_arguments.done": _call,
        "conversation.item.created": _item_created,
    }


def _as_part(item: _Item, text: str) -> Told:
    return {"type": item.kind, _DONE[item.kind][1]: text}


def _as_item(item: _Item, status: str) -> Told:
    if item.call is not None:
        return item.call
    kind, key = ("output_audio", "transcript") if item.kind == "audio" else ("output_text", "text")
    shape = {"id": item.item_id, "object": "realtime.item", "type": "message", "role": "assistant"}
    content = [{"type": kind, key: item.text}] if item.texts else []
    return {**shape, "status": status, "content": content}
