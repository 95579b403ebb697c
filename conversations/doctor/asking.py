"""One question to a service over HTTP: what it answered, how long it took, and how far its clock is off."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from conversations import toolbox
from tools import outgoing
from tools.contract import ToolFailure

SECONDS = 10.0
REACH = (httpx2.HTTPError, httpx2.InvalidURL, OSError, TimeoutError, ToolFailure)


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, 0 with `why` where nothing came; `skew` is the service's clock less ours, in seconds."""

    status: int
    ms: int
    why: str = ""
    skew: float | None = None


async def ask(method: str, url: str, headers: Mapping[str, str] | None = None, body: Any = None) -> Answer:
    """Asks once, follows nothing, and reads no more than the beginning of the answer."""
    began = time.monotonic()
    try:
        async with outgoing.client(toolbox.connect()) as client:
            request = client.build_request(
                method, url, headers=dict(headers or {}), json=body, timeout=SECONDS
            )
            response = await client.send(request, stream=True)
            try:
                told, status = response.headers.get("date", ""), response.status_code
            finally:
                await response.aclose()
    except REACH as error:
        return Answer(0, since(began), type(error).__name__)
    return Answer(status, since(began), skew=_skew(told))


async def timed(work: Callable[[], Awaitable[None]]) -> int:
    """Runs it and gives the milliseconds that it took."""
    began = time.monotonic()
    await work()
    return since(began)


def since(began: float) -> int:
    """Whole milliseconds since that moment of the monotonic clock."""
    return round((time.monotonic() - began) * 1000)


def _skew(told: str) -> float | None:
    try:
        return parsedate_to_datetime(told).timestamp() - time.time() if told else None
    except ValueError:
        return None
