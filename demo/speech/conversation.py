"""The items of one session in order, bounded."""

from collections.abc import Iterable
from typing import Any

from demo.speech.events import Item, Refused, new_id

MOST_ITEMS = 400


class Conversation:
    """The default conversation; the oldest item goes when it is full."""

    def __init__(self) -> None:
        self.id = new_id("conv")
        self._items: dict[str, Item] = {}
        self._audio_ms: dict[str, int] = {}

    @property
    def items(self) -> list[Item]:
        """The items, oldest first."""
        return list(self._items.values())

    def add(self, item: Item, after: str | None = None) -> str | None:
        """Put an item last, or after another (`root`: first); the id of the one before; raises Refused."""
        if item["id"] in self._items:
            raise Refused("item_create_duplicate_id", f"Item {item['id']!r} is there already.", "item.id")
        order = list(self._items)
        place = self._place(order, after)
        order.insert(place, item["id"])
        self._items = {key: item if key == item["id"] else self._items[key] for key in order}
        if len(self._items) > MOST_ITEMS:
            self._forget(order[0])
        return order[place - 1] if place else None

    def replace(self, item: Item, audio_ms: int = 0) -> None:
        """Put the finished form of an item in its place, with how much sound of it was made."""
        if item["id"] in self._items:
            self._items[item["id"]] = item
            self._audio_ms[item["id"]] = audio_ms

    def set_transcript(self, item_id: str, text: str) -> None:
        """Write down what was understood of a spoken message."""
        if item := self._items.get(item_id):
            self._items[item_id] = item | {"content": [{"type": "input_audio", "transcript": text}]}

    def get(self, item_id: str, code: str) -> Item:
        """The item of that id; raises Refused with `code`."""
        item = self._items.get(item_id)
        if item is None:
            raise Refused(code, f"Item with item_id {item_id[:60]!r} was not found.", "item_id")
        return item

    def delete(self, item_id: str) -> None:
        """Take an item out; raises Refused."""
        self.get(item_id, "item_delete_invalid_item_id")
        self._forget(item_id)

    def truncate(self, item_id: str, content_index: int, audio_end_ms: int) -> None:
        """Cut an assistant's sound at what was heard; its words go, for who knows which; raises Refused."""
        item = self.get(item_id, "item_truncate_invalid_item_id")
        part: Item = next(iter(item.get("content") or ()), {})
        if item.get("role") != "assistant" or part.get("type") != "output_audio" or content_index != 0:
            raise Refused(
                "invalid_value", "Only the sound of an assistant's message can be truncated.", "item_id"
            )
        made = self._audio_ms.get(item_id, 0)
        if audio_end_ms > made:
            reason = f"Audio content of {made}ms is already shorter than {audio_end_ms}ms"
            raise Refused("invalid_value", reason, "audio_end_ms")
        self._audio_ms[item_id] = audio_end_ms
        self._items[item_id] = item | {"content": [{"type": "output_audio", "transcript": ""}]}

    def check_output(self, item: Item) -> None:
        """Refuse an output for a call that is not here."""
        if item["type"] == "function_call_output" and item["call_id"] not in _call_ids(self.items):
            reason = f"Tool call ID {item['call_id']!r} not found in conversation."
            raise Refused("invalid_tool_call_id", reason, "item.call_id")

    def _place(self, order: list[str], after: str | None) -> int:
        if after is None:
            return len(order)
        if after == "root":
            return 0
        if after not in self._items:
            reason = f"Item with item_id {after[:60]!r} was not found."
            raise Refused("invalid_value", reason, "previous_item_id")
        return order.index(after) + 1

    def _forget(self, item_id: str) -> None:
        del self._items[item_id]
        self._audio_ms.pop(item_id, None)


def _call_ids(items: Iterable[Item]) -> set[Any]:
    return {item["call_id"] for item in items if item["type"] == "function_call"}
