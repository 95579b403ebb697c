"""Signed phone links: made by an operator, good once, and afterwards for the browser that used them."""

from __future__ import annotations

import base64
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.utils import timezone

from conversations.identity import phones, vault
from conversations.identity.refusal import Refused
from conversations.models import Conversation, PhoneLink
from vocero.hiding import LIVE

LIFETIME = timedelta(minutes=60)


@dataclass(frozen=True, slots=True)
class Issued:
    """A fresh link; its address is shown once and is not in `repr`."""

    link_id: uuid.UUID
    expires_at: datetime
    address: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Unused:
    """A link that waits for its one use; the phone is not in `repr`."""

    link_id: uuid.UUID
    phone: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Used:
    """A link that this very browser used for a conversation which is still open."""

    conversation_id: uuid.UUID


def issue(phone: str, lifetime: timedelta = LIFETIME, made_by: str = "") -> Issued:
    """Makes a link for a phone in any usual notation. Raises ValueError for what is no phone number."""
    number, now, link_id = phones.normalised(phone), timezone.now(), uuid.uuid4()
    row = PhoneLink.objects.create(
        id=link_id,
        phone_ciphertext=vault.seal(number, bound_to=str(link_id)),
        phone_ending=number[-4:],
        made_by=made_by,
        made_at=now,
        expires_at=now + lifetime,
    )
    link = _signer().sign(_short(link_id))
    LIVE.keep(link)
    query = urlencode({"link": link})
    return Issued(link_id, row.expires_at, f"{settings.VOCERO.public_url}/?{query}")


def look_up(link: str, browser_hash: str) -> Unused | Used:
    """What a link is good for in this browser. Raises Refused: invalid, link_expired or link_used."""
    link_id = _signed_id(link)
    LIVE.keep(link)
    row = PhoneLink.objects.filter(pk=link_id).select_related("conversation").first()
    if row is None:
        raise Refused("link_expired", "This link is no longer valid. Ask for a new one.")
    if row.used_at:
        again = row.conversation
        mine = bool(browser_hash) and row.used_by_hash == browser_hash
        if again and mine and again.state == Conversation.State.OPEN:
            return Used(again.pk)
        raise Refused("link_used", "This link has been used already. Ask for a new one.")
    if row.expires_at <= timezone.now():
        raise Refused("link_expired", "This link has expired. Ask for a new one.")
    try:
        return Unused(row.pk, vault.unseal(row.phone_ciphertext, bound_to=str(row.pk)))
    except vault.Unreadable as error:
        raise Refused("link_expired", "This link is no longer valid. Ask for a new one.") from error


def consume(link_id: uuid.UUID, browser_hash: str, conversation: Conversation, now: datetime) -> None:
    """Uses a link up inside the caller's transaction. Raises Refused where another request was faster."""
    used = PhoneLink.objects.filter(pk=link_id, used_at=None, expires_at__gt=now).update(
        used_at=now, used_by_hash=browser_hash, conversation=conversation, phone_ciphertext=""
    )
    if not used:
        raise Refused("link_used", "This link has been used already. Ask for a new one.")


def _signer() -> Signer:
    return Signer(salt="vocero.phonelink", sep=".")


def _short(link_id: uuid.UUID) -> str:
    return base64.urlsafe_b64encode(link_id.bytes).decode("ascii").rstrip("=")


def _signed_id(link: str) -> uuid.UUID:
    try:
        text = _signer().unsign(link)
    except BadSignature as error:
        raise Refused("invalid", "This is not a link that was made here.") from error
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))
