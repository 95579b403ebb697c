"""The backend's phone login: one POST, no redirects, bounded in time and size."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import re
import ssl
from dataclasses import dataclass, field
from typing import Any

import httpx2
import structlog
from django.conf import settings

from conversations.identity.refusal import Refused
from vocero.hiding import LIVE

log = structlog.get_logger(__name__)

TIME_LIMIT = 10.0
BODY_LIMIT = 65_536
# The backend's way of saying no: it knows the request, and not the caller.
_REJECTIONS = frozenset({400, 401, 403, 404, 409, 410, 422})
_TOKEN = re.compile(r"[\x21-\x7e]{1,8192}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the backend says is calling, with the credential that acts for them; the token is not in `repr`."""

    user_id: str
    name: str
    token: str = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the token, in hex."""
        return hashlib.sha256(self.token.encode()).hexdigest()


async def log_in(phone: str) -> Identity:
    """Logs a normalised phone in. Raises Refused: login_rejected, backend_contract or backend_unavailable."""
    LIVE.keep(phone)
    url = settings.VOCERO.backend_login_url
    if not url:
        raise Refused("backend_unavailable", "Login by phone is not configured here.")
    try:
        async with asyncio.timeout(TIME_LIMIT):
            status, body = await _post(url, phone)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, TimeoutError) as error:
        log.warning("login.unreachable", error=type(error).__name__)
        raise Refused("backend_unavailable", "The login service cannot be reached.") from error
    return _identity(status, body)


async def _post(url: str, phone: str) -> tuple[int, bytes]:
    """The status and at most BODY_LIMIT + 1 bytes of the answer."""
    client = httpx2.AsyncClient(verify=_trust(), trust_env=False, follow_redirects=False, timeout=TIME_LIMIT)
    body = b""
    # Raw and uncompressed: a few compressed bytes could otherwise unfold into megabytes.
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    async with client, client.stream("POST", url, json={"phone": phone}, headers=headers) as response:
        async for chunk in response.aiter_raw(16_384):
            body += chunk
            if len(body) > BODY_LIMIT:
                break
        return response.status_code, body


@functools.cache
def _trust() -> ssl.SSLContext:
    """Made once: building one takes longer than the login itself."""
    return httpx2.create_ssl_context()


def _identity(status: int, body: bytes) -> Identity:
    if status in _REJECTIONS:
        log.info("login.rejected", status=status)
        raise Refused("login_rejected", "The backend does not know this phone number.")
    if status in (408, 425, 429) or status >= 500:
        log.warning("login.unavailable", status=status)
        raise Refused("backend_unavailable", "The login service is not available at the moment.")
    identity = _parsed(body) if status in (200, 201) and len(body) <= BODY_LIMIT else None
    if identity is None:
        log.error("login.contract", status=status, size=len(body))
        raise Refused("backend_contract", "The login service answered in a form that cannot be used.")
    log.info("login.accepted")
    return identity


def _parsed(body: bytes) -> Identity | None:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    user = answer.get("user") if isinstance(answer, dict) else None
    if not isinstance(user, dict):
        return None
    token, user_id, name = answer.get("sessionToken"), _user_id(user.get("id")), _name(user.get("name"))
    if not isinstance(token, str) or not _TOKEN.fullmatch(token) or not user_id or not name:
        return None
    LIVE.keep(token)
    return Identity(user_id=user_id, name=name, token=token)


def _user_id(value: Any) -> str:
    """Exactly what the backend said, or a whole number; never cut, since that could make two callers one."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return "" if _CONTROL.search(text) or len(text) > _LONGEST else text


def _name(value: Any) -> str:
    return _CONTROL.sub(" ", value).strip()[:_LONGEST] if isinstance(value, str) else ""
