"""Web search: one question to the provider (Serper's `/search`), a short clean list of pages back."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import httpx2

from tools import outgoing, results
from tools.addresses import Connect, Pinned

TIME_LIMIT = 8.0
BODY_LIMIT = 512 * 1024
MOST_RESULTS = 8
TITLE_LIMIT, SNIPPET_LIMIT, ADDRESS_LIMIT = 200, 600, 2_000
_BLANK = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202f\u2060-\u2069\ufeff]+")


@dataclass(frozen=True, slots=True)
class Provider:
    """Where to search and with which key, from settings alone; `connect` judges where the address leads."""

    url: str
    key: str = field(repr=False)
    connect: Connect = Pinned


@dataclass(frozen=True, slots=True)
class Found:
    """One page; the address is http or https."""

    title: str
    url: str
    snippet: str


class SearchFailed(Exception):
    """No results: `unavailable` when trying later may help, `contract` when the answer cannot be used."""

    def __init__(self, code: str, status: int | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.status = status


async def search(provider: Provider, query: str) -> list[Found]:
    """What the provider finds, at most eight pages. Raises SearchFailed."""
    try:
        async with asyncio.timeout(TIME_LIMIT):
            status, body = await _asked(provider, query)
    except outgoing.TooLarge as error:
        raise SearchFailed("contract") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, TimeoutError) as error:
        raise SearchFailed("unavailable") from error
    if status != 200:
        raise SearchFailed("contract" if 200 < status < 400 else "unavailable", status)
    return list(islice(_found(_organic(body, status), provider.key), MOST_RESULTS))


async def _asked(provider: Provider, query: str) -> tuple[int, bytes]:
    """The status and the body of the answer, which is nothing for any other status than 200."""
    headers = {"X-API-KEY": provider.key, "Accept": "application/json", "Accept-Encoding": "identity"}
    question = {"q": query, "num": MOST_RESULTS}
    client = outgoing.client(provider.connect)
    async with client, client.stream("POST", provider.url, json=question, headers=headers) as response:
        good = response.status_code == httpx2.codes.OK
        return response.status_code, await outgoing.body(response, BODY_LIMIT) if good else b""


def _organic(body: bytes, status: int) -> list[Any]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise SearchFailed("contract", status) from error
    organic = answer.get("organic", []) if isinstance(answer, dict) else None
    if not isinstance(organic, list):
        raise SearchFailed("contract", status)
    return organic


def _found(organic: list[Any], key: str) -> Iterator[Found]:
    """Those entries that name a page, each address once, without the key."""
    seen: set[str] = set()
    for entry in organic:
        address = _address(entry.get("link")) if isinstance(entry, dict) else ""
        title = _words(entry.get("title"), TITLE_LIMIT, key) if address else ""
        if title and address not in seen and results.clean(address, key) == address:
            seen.add(address)
            yield Found(title, address, _words(entry.get("snippet"), SNIPPET_LIMIT, key))


def _address(link: Any) -> str:
    """The link itself where it leads to the web and nowhere else, or nothing."""
    if not isinstance(link, str) or len(link) > ADDRESS_LIMIT or _BLANK.search(link):
        return ""
    try:
        parts = urlsplit(link)
        named = bool(parts.hostname) and parts.username is None and parts.password is None
        _ = parts.port
    except ValueError:
        return ""
    return link if parts.scheme in ("http", "https") and named else ""


def _words(text: Any, limit: int, key: str) -> str:
    if not isinstance(text, str):
        return ""
    words = _BLANK.sub(" ", results.clean(text, key)).strip()
    return words if len(words) <= limit else f"{words[: limit - 1].rstrip()}…"
