"""Who was turned away at the door because of a setting: one line now and then that names what to change."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host

log = structlog.get_logger(__name__)

App = Callable[[Any, Any, Any], Awaitable[None]]

EVERY = 60.0
LONGEST = 200
_LONGEST_LINE = 600
_SEEN = "names_the_setting"
_FORWARDED = (b"x-forwarded-for", b"x-forwarded-proto")


class Sparingly:
    """What may happen a thousand times a second is told once a minute; kinds are few, and our own."""

    def __init__(self, every: float = EVERY, now: Callable[[], float] = time.monotonic) -> None:
        self._every, self._now = every, now
        self._lock = threading.Lock()
        self._told: dict[str, float] = {}
        self._kept_back: dict[str, int] = {}

    def may_tell(self, kind: str) -> int | None:
        """How many were kept back since the last that was told; None where this one is kept back, too."""
        with self._lock:
            now, kept = self._now(), self._kept_back.get(kind, 0)
            if kind in self._told and now - self._told[kind] < self._every:
                self._kept_back[kind] = kept + 1
                return None
            self._told[kind], self._kept_back[kind] = now, 0
            return kept

    def forget(self) -> None:
        """The next of each kind is told at once."""
        with self._lock:
            self._told.clear()
            self._kept_back.clear()


TOLD = Sparingly()


@dataclass(frozen=True, slots=True)
class Knock:
    """What a refused request said of its page and of this host; `forwarded` is X-Forwarded-Proto, if any."""

    origin: str
    host: str
    secure: bool
    forwarded: str = ""


def setting_for(knock: Knock, host_is_served: bool, trusted_proxies: int, listed: str) -> str:
    """The setting that would let this page in, were it ours; `listed` is the one that lists foreign pages."""
    if not host_is_served:
        return "ALLOWED_HOSTS"
    scheme, _, page = knock.origin.lower().partition("://")
    if page != knock.host.lower() or scheme == ("https" if knock.secure else "http"):
        return listed
    return "S2S_PUBLIC_URL" if trusted_proxies or not knock.forwarded else "S2S_TRUSTED_PROXIES"


def refused_socket(knock: Knock) -> None:
    """A WebSocket was refused for the page that it came from."""
    mend = _setting(knock, "S2S_ALLOWED_ORIGINS")
    _tell("socket.origin_refused", mend, origin=knock.origin, host=knock.host)


def noticing(app: App) -> App:
    """The application, which says so where a proxy's headers are ignored for want of a setting."""

    async def noticed(scope: Any, receive: Any, send: Any) -> None:
        if not settings.VOCERO.trusted_proxies:
            sent = [name for name, _ in scope.get("headers", ()) if name in _FORWARDED]
            if sent:
                peer = str((scope.get("client") or ("",))[0])
                _tell("proxy.ignored", "S2S_TRUSTED_PROXIES", header=sent[0].decode(), peer=peer)
        await app(scope, receive, send)

    return noticed


class NamesTheSetting(logging.Filter):
    """For Django's loggers of refused requests: their lines name the setting, and come sparingly."""

    def filter(self, record: logging.LogRecord) -> bool:
        # Logging that is configured again has it twice.
        if hasattr(record, _SEEN):
            return True
        setattr(record, _SEEN, True)
        line = record.getMessage()
        mend = _mend_of(line, getattr(record, "request", None))
        kept_back = TOLD.may_tell(f"{record.name} {mend}")
        if kept_back is None:
            return False
        told = line[:_LONGEST_LINE]
        told += f" Setting to change if this page is yours: {mend}." if mend else ""
        record.msg, record.args = told + (f" ({kept_back} more kept back)" if kept_back else ""), ()
        return True


def _mend_of(line: str, request: HttpRequest | None) -> str:
    """Django itself names ALLOWED_HOSTS; a token that is missing is no matter of settings."""
    if request is None or not line.startswith("Forbidden (Origin checking failed"):
        return ""
    meta: Mapping[str, str] = request.META
    origin, host = meta.get("HTTP_ORIGIN", ""), meta.get("HTTP_HOST") or meta.get("SERVER_NAME", "")
    knock = Knock(origin, host, request.is_secure(), meta.get("HTTP_X_FORWARDED_PROTO", ""))
    return _setting(knock, "CSRF_TRUSTED_ORIGINS")


def _setting(knock: Knock, listed: str) -> str:
    name, _ = split_domain_port(knock.host)
    served = bool(name) and validate_host(name, settings.ALLOWED_HOSTS)
    return setting_for(knock, served, settings.VOCERO.trusted_proxies, listed)


def _tell(event: str, mend: str, **received: str) -> None:
    kept_back = TOLD.may_tell(f"{event} {mend}")
    if kept_back is not None:
        facts = {name: value[:LONGEST] for name, value in received.items()}
        log.warning(event, mend=mend, kept_back=kept_back, **facts)
