"""What callers thought of their answers, kept on the turns."""

from __future__ import annotations

from conversations.models import Conversation, Turn


def rate(conversation: Conversation, index: int, rating: str | None) -> bool:
    """Keeps it, None for no opinion; False where the conversation has no such turn."""
    turn = Turn.objects.filter(conversation=conversation, index=index)
    return turn.update(rating=rating or "") > 0
