"""Phone login: tokens, whose they are, and when they end."""

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from demo.aquaportal.data.farm import CALLERS
from demo.aquaportal.data.records import Caller

TOKEN_SECONDS = 3600.0


@dataclass(slots=True)
class Session:
    """What one login opened; `ended` says why its token is refused."""

    caller: Caller
    expires_at: float
    tool_calls: int = 0
    ended: str | None = None


class TokenRefused(Exception):
    """The token opens nothing; the text is the reason, as the WWW-Authenticate header gives it."""


class Accounts:
    """The sessions that are open, by their random token."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: dict[str, Session] = {}

    @property
    def tokens(self) -> tuple[str, ...]:
        """Every token ever issued, so that a test can look for leaks."""
        return tuple(self._sessions)

    def log_in(self, phone: str) -> tuple[str, Caller] | None:
        """A new token and its caller, or None for an unknown phone."""
        caller = next((each for each in CALLERS if each.phone == phone.strip()), None)
        if caller is None:
            return None
        token = f"aqp_{secrets.token_urlsafe(32)}"
        self._sessions[token] = Session(caller, self._clock() + TOKEN_SECONDS)
        return token, caller

    def caller_of(self, token: str) -> Caller:
        """Whose token it is; raises TokenRefused when it is unknown or has ended."""
        session = self._sessions.get(token)
        if session is None:
            raise TokenRefused("The token is unknown")
        if session.ended is None and self._clock() >= session.expires_at:
            session.ended = "expired"
        if session.ended is not None:
            raise TokenRefused(f"The token is {session.ended}")
        return session.caller

    def count_tool_call(self, token: str, allowed: int) -> None:
        """Count a tool call; where the token expires in mid-call, one more than allowed ends it."""
        session = self._sessions[token]
        if session.caller.token_expires_in_call and session.tool_calls >= allowed:
            session.ended = "expired"
        session.tool_calls += 1

    def expire(self, phone: str | None = None) -> None:
        """End the tokens of one caller, or of all, as if their time were over."""
        self._end("expired", phone)

    def revoke(self, phone: str | None = None) -> None:
        """End the tokens of one caller, or of all, as if an operator had withdrawn them."""
        self._end("revoked", phone)

    def _end(self, reason: str, phone: str | None) -> None:
        for session in list(self._sessions.values()):
            if phone in (None, session.caller.phone):
                session.ended = reason


def fingerprint(token: str) -> str:
    """What logs may show of a token: its SHA-256, in hexadecimal."""
    return hashlib.sha256(token.encode()).hexdigest()
