"""Ids of everything that a call or a turn makes."""

from __future__ import annotations

import uuid

from conversations.models import new_ref


def new_id(kind: str) -> str:
    """An id of a kind: UUIDs for rows, short letters for `ref`, GA's shapes for items and events."""
    match kind:
        case "ref":
            return new_ref()
        case "item" | "event":
            return f"{kind}_{uuid.uuid4().hex[:24]}"
        case _:
            return str(uuid.uuid4())
