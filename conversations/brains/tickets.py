"""Tickets: by one the language model of a speech service shows for which conversation it asks.

The relay ends the instructions of each session with one. Ticket-shaped text of anybody else is taken out of
whatever goes to the service (`core.markers.neutralise`), so that a session has exactly one.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass

from conversations.identity import derived
from vocero.hiding import LIVE

_PURPOSE = "vocero tickets"
_NAME = "Vocero-Ticket: "
_LINE = re.compile(rf"^{_NAME}([\w-]+)\.([\w-]+)\.(\d+)\.(think|say)\.([\w-]+)\s*$", re.ASCII | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Ticket:
    """One session of the speech service in one conversation; `expires_at` in epoch seconds.

    With `says` it asks for a line of the relay's, else for the brain's answer.
    """

    conversation_id: str
    session_id: str
    expires_at: int
    says: bool = False


def line(ticket: Ticket) -> str:
    """The ticket as the last line of instructions."""
    told = _told(ticket)
    return f"{_NAME}{told}.{_mac(derived.keys(_PURPOSE)[0], told)}"


def shown(instructions: str, now: float) -> Ticket | None:
    """The one ticket in these instructions; None where there is none, or several, or it is not good (now)."""
    lines = _LINE.findall(instructions)
    if len(lines) != 1:
        return None
    conversation_id, session_id, expires_at, purpose, mac = lines[0]
    told = f"{conversation_id}.{session_id}.{expires_at}.{purpose}"
    good = [hmac.compare_digest(_mac(key, told), mac) for key in derived.keys(_PURPOSE)]
    if not any(good) or int(expires_at) <= now:
        return None
    return Ticket(conversation_id, session_id, int(expires_at), purpose == "say")


def _told(ticket: Ticket) -> str:
    purpose = "say" if ticket.says else "think"
    return f"{ticket.conversation_id}.{ticket.session_id}.{ticket.expires_at}.{purpose}"


def _mac(key: bytes, told: str) -> str:
    made = hmac.new(key, told.encode(), hashlib.sha256).digest()
    mac = base64.urlsafe_b64encode(made).decode().rstrip("=")
    LIVE.keep(mac)
    return mac
