"""Who may come in: the holder of a binding cookie or of a client secret, and to which conversation."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from django.conf import settings
from django.db.models import QuerySet
from django.http.request import split_domain_port, validate_host
from django.utils import timezone

from conversations import lifecycle
from conversations.identity import binding, origins
from conversations.models import Conversation
from vocero.hiding import LIVE

COOKIE = "cookie"
SECRET = "secret"  # noqa: S105  (a kind of visitor)


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who showed a good cookie or client secret; `key_hash` finds their conversations."""

    kind: str
    key_hash: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Admission:
    """The way into one open conversation; `kind` is `cookie` or `secret`."""

    conversation_id: str
    kind: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The way is closed: the WebSocket close code, and the code for the `error` event before it."""

    close_code: int
    code: str


def admit_socket(conversation_id: str | None, cookie: str | None, secret: str | None) -> Admission | Refusal:
    """Lets a socket in or says why not; a secret means its own conversation, and no cookie is looked at."""
    visitor = visitor_by_secret(secret) if secret is not None else visitor_by_cookie(cookie)
    if visitor is None:
        return Refusal(4401, "unauthorized")
    conversation = owned(visitor, conversation_id)
    if conversation is None:
        return Refusal(4404, "not_found")
    reason = lifecycle.close_when_due(conversation)
    return Refusal(4410, reason) if reason else Admission(str(conversation.pk), visitor.kind)


def visitor_by_cookie(cookie: str | None) -> Visitor | None:
    """The browser that holds this cookie; None where it binds nothing."""
    visitor = Visitor(COOKIE, binding.digest(cookie)) if cookie else None
    if not cookie or visitor is None or not _conversations(visitor).exists():
        return None
    LIVE.keep(cookie)
    return visitor


def visitor_by_secret(secret: str | None) -> Visitor | None:
    """The integrator's client that holds this secret; None where it is unknown or has expired."""
    if not secret or not secret.startswith(binding.CLIENT_SECRET):
        return None
    visitor = Visitor(SECRET, binding.digest(secret))
    good = _conversations(visitor).filter(secret_expires_at__gt=timezone.now())
    if not good.exists():
        return None
    LIVE.keep(secret.removeprefix(binding.CLIENT_SECRET))
    return visitor


def owned(visitor: Visitor, conversation_id: str | None) -> Conversation | None:
    """That conversation, open or closed, where it is this visitor's; a secret implies its only one."""
    mine = _conversations(visitor)
    if conversation_id is None and visitor.kind == SECRET:
        return mine.first()
    try:
        return mine.filter(pk=uuid.UUID(conversation_id)).first() if conversation_id else None
    except ValueError:
        return None


def origin_allowed(origin: str | None, host: str, secure: bool, kind: str) -> bool:
    """`origins.allowed` with this deployment's settings; the request's host counts if it is served here."""
    domain, _ = split_domain_port(host)
    served = host if domain and validate_host(domain, settings.ALLOWED_HOSTS) else ""
    vocero = settings.VOCERO
    listed = vocero.allowed_origins
    if listed and kind == SECRET:
        listed += vocero.embed_origins
    return origins.allowed(origin, served, secure, kind, listed, vocero.public_url)


def _conversations(visitor: Visitor) -> QuerySet[Conversation]:
    if visitor.kind == SECRET:
        return Conversation.objects.filter(secret_hash=visitor.key_hash)
    return Conversation.objects.filter(browser_hash=visitor.key_hash)
