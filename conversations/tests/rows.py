"""Rows as tests need them, and moving them through time."""

import uuid
from datetime import timedelta

from django.utils import timezone

from conversations import lifecycle
from conversations.identity import binding
from conversations.identity.login import Identity
from conversations.lifecycle import Opening
from conversations.models import Conversation, ToolCall, Turn, UpstreamSession

ADA = Identity(user_id="u-1", name="Ada Admin", token="backend-token-of-ada-0123456789")
MARA = Identity(user_id="u-2", name="Mara Manager", token="backend-token-of-mara-0123456789")
OWNER = "process-a"


def opened(identity=ADA, cookie="", **values):
    """An open conversation, bound to a cookie where one is given."""
    return lifecycle.open_conversation(
        Opening(
            mode="mcp", identity=identity, browser_hash=binding.digest(cookie) if cookie else "", **values
        )
    )


def changed(conversation, **values):
    """The row after a change from outside, as by another process or by time."""
    Conversation.objects.filter(pk=conversation.pk).update(**values)
    conversation.refresh_from_db()
    return conversation


def ago(**units):
    return timezone.now() - timedelta(**units)


def running_turn(conversation, index=1, started_at=None):
    return Turn.objects.create(
        conversation=conversation, index=index, origin="voice", started_at=started_at or timezone.now()
    )


def open_upstream(conversation, opened_at=None):
    return UpstreamSession.objects.create(
        conversation=conversation, dialect="ga", selection="native", opened_at=opened_at or timezone.now()
    )


def running_call(turn, sequence=1, started_at=None):
    return ToolCall.objects.create(
        id=uuid.uuid4(),
        conversation=turn.conversation,
        turn=turn,
        sequence=sequence,
        source="mcp",
        selection="native",
        name="get_report",
        started_at=started_at or turn.started_at,
    )
