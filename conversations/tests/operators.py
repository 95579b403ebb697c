"""Operators for tests of the admin, and rows worth looking at."""

from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from conversations.models import BackendToken, Conversation, ToolCall, Turn, UpstreamSession
from tools.models import CatalogSnapshot, ToolDeclaration
from tools.schema import digest_of

VIEW = (
    "conversations.view_conversation",
    "conversations.view_toolcall",
    "tools.view_catalogsnapshot",
    "tools.view_tooldeclaration",
)
AUDIT = (*VIEW, "conversations.read_transcripts", "conversations.read_payloads")
OPERATE = (
    *VIEW,
    "tools.approve_tooldeclaration",
    "tools.refresh_catalogsnapshot",
    "conversations.erase_token",
    "conversations.end_conversation",
    "conversations.run_cleanup",
    "conversations.erase_caller",
    "conversations.view_phonelink",
    "conversations.make_phonelink",
    "conversations.view_apikey",
    "conversations.manage_apikeys",
)
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def signed_in(name, permissions=(), superuser=False, csrf=False):
    """A browser in which this member of staff is signed in."""
    user = User.objects.create_user(name, is_staff=True, is_superuser=superuser)
    for permission in permissions:
        app_label, codename = permission.split(".")
        user.user_permissions.add(
            Permission.objects.get(content_type__app_label=app_label, codename=codename)
        )
    client = Client(enforce_csrf_checks=csrf)
    client.force_login(user)
    return client


def viewer():
    return signed_in("vera", VIEW)


def auditor():
    return signed_in("aude", AUDIT)


def operator(**options):
    return signed_in("olga", OPERATE, **options)


def root():
    return signed_in("root", superuser=True)


def conversation(**values):
    """An open conversation with a credential, unless `values` say otherwise."""
    now = timezone.now()
    times = {"opened_at": now, "last_seen_at": now, "expires_at": now + timedelta(hours=1)}
    row = Conversation.objects.create(**{"mode": "mcp", "caller_name": "Marta", **times, **values})
    BackendToken.objects.create(
        conversation=row, ciphertext="sealed", fingerprint="f" * 64, obtained_at=row.opened_at
    )
    return row


def turn(row, index=1, **values):
    """A turn of five seconds that was answered after two."""
    start = values.pop("started_at", NOON + timedelta(minutes=index))
    times = {
        "started_at": start,
        "caller_done_at": start + timedelta(seconds=1),
        "answered_at": start + timedelta(seconds=2),
        "ended_at": start + timedelta(seconds=5),
    }
    texts = {"caller_text": "the spoken question", "heard_text": "the heard answer"}
    defaults = {"origin": "voice", "outcome": "done", **texts, **times}
    return Turn.objects.create(conversation=row, index=index, **{**defaults, **values})


def call(of_turn, sequence=1, **values):
    """A tool call of 300 ms in the second second of its turn."""
    start = of_turn.started_at + timedelta(milliseconds=1_200)
    defaults = {
        "conversation": of_turn.conversation,
        "source": "aquaportal",
        "selection": "native",
        "name": "get_report",
        "arguments": {"request": {"report_id": "the secret argument"}},
        "status": "completed",
        "excerpt": "the secret result",
        "sources": ["the secret result's title"],
        "started_at": start,
        "ended_at": start + timedelta(milliseconds=300),
        "duration_ms": 300,
    }
    return ToolCall.objects.create(turn=of_turn, sequence=sequence, **{**defaults, **values})


def declaration(description="Reads a report.", name="get_report", **values):
    """How a tool was declared; it waits for approval unless `values` say otherwise."""
    whole = {"description": description, "parameters": {"type": "object"}, "output_schema": None}
    seen = values.pop("first_seen_at", NOON)
    defaults = {
        "source": "aquaportal",
        "declaration": whole,
        "digest": digest_of(whole),
        "last_seen_at": seen,
    }
    return ToolDeclaration.objects.create(name=name, first_seen_at=seen, **{**defaults, **values})


def catalog(fingerprint="f" * 64, names=("get_report",), **values):
    """A catalog that was fetched now, of tools with these names."""
    now = timezone.now()
    tools = [
        {
            "name": name,
            "description": f"Describes {name}.",
            "parameters": {"type": "object", "properties": {"report_id": {"type": "string"}}},
            "output_schema": None,
            "source": "aquaportal",
        }
        for name in names
    ]
    times = {"fetched_at": now, "expires_at": now + timedelta(minutes=5)}
    return CatalogSnapshot.objects.create(
        **{"source": "aquaportal", "caller_fingerprint": fingerprint, "tools": tools, **times, **values}
    )


def upstream(row, **values):
    """A session at the speech service that declared one tool natively."""
    defaults = {"dialect": "ga", "selection": "native", "tool_names": ["get_report"], "opened_at": NOON}
    return UpstreamSession.objects.create(conversation=row, **{**defaults, **values})


def words(response):
    """The page's text as it was sent."""
    return response.content.decode()
