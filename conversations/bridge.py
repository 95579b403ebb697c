"""The ApiPilot bridge over HTTP: a list and an execution for whoever asks, in one envelope."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from django.conf import settings
from django.utils import timezone

from conversations import toolbox
from tools import executor, sentences
from tools.catalog import Entry, Offer, discover
from tools.contract import CallContext, Caller, Progress, Tool, ToolFailure
from tools.declarations import Declarations
from tools.frozen import thaw
from tools.listings import SharedListings
from tools.sources.apipilot import ApiPilotSource, BridgeFailure, Credential

log = structlog.get_logger(__name__)

# What a failure would be as an answer of HTTP, where the bridge gave none.
STATUS_CODES = {
    "invalid_arguments": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "unknown_tool": 404,
    "connection_lost": 502,
    "tool_error": 502,
    "unavailable": 503,
    "timeout": 504,
}


class _Listed:
    """The bridge as a source that remembers its failure: a catalog keeps only the code."""

    def __init__(self, source: ApiPilotSource) -> None:
        self.name = source.name
        self.call, self.aclose = source.call, source.aclose
        self.failure: ToolFailure | None = None
        self._source = source

    async def tools(self, caller: Caller) -> Sequence[Tool]:
        try:
            return await self._source.tools(caller)
        except ToolFailure as failure:
            self.failure = failure
            raise


async def list_tools(credential: Credential, everything: bool, again: bool) -> dict[str, Any]:
    """The envelope with the tools that this credential may use, or with all of them."""
    source = ApiPilotSource(toolbox.bridge(), credential, everything)
    try:
        offer, _ = await _offer(source, credential, everything, again)
    except ToolFailure as failure:
        return failed(failure)
    finally:
        await source.aclose()
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": thaw(tool.parameters),
            "requires_auth": tool.requires_auth,
        }
        for tool in offer.tools
    ]
    return succeeded({"tools": tools, "count": len(tools), "include_unauthorized": everything})


async def execute(credential: Credential, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The envelope with what the tool answers: looked up, let through, validated, then run."""
    source, started = ApiPilotSource(toolbox.bridge(), credential, everything=True), time.monotonic()
    known, code = "", ""
    try:
        entry = await _found(source, credential, name)
        known = entry.tool.name
        data = await _run(source, entry, arguments, credential)
    except ToolFailure as failure:
        code = failure.code
        return failed(failure)
    finally:
        await source.aclose()
        spent = round((time.monotonic() - started) * 1000)
        log.info("tool.executed", tool=known, code=code, duration_ms=spent, over="http")
    return succeeded(data)


def succeeded(data: Any) -> dict[str, Any]:
    """The envelope of an answer."""
    return {"success": True, "data": data, "error": None}


def failed(failure: ToolFailure) -> dict[str, Any]:
    """The envelope of a failure: a sentence for people, and what the bridge said for diagnostics."""
    told = failure if isinstance(failure, BridgeFailure) else BridgeFailure(failure.code, failure.message)
    in_own_words = told.said or failure.code == "invalid_arguments"
    error = {
        "message": told.message if in_own_words else sentences.for_caller(told.code),
        "code": told.code,
        "status_code": told.status_code or STATUS_CODES.get(told.code, 500),
        "raw": told.raw,
    }
    return {"success": False, "data": None, "error": error}


async def _offer(
    source: ApiPilotSource, credential: Credential, everything: bool, again: bool
) -> tuple[Offer, bool]:
    """What is offered, and whether that was kept from before; raises the failure of a listing."""
    caller = Caller("", "", credential.fingerprint)
    cache = SharedListings(settings.VOCERO.apipilot.ttl, "all" if everything else "own", again)
    listed = _Listed(source)
    pins = Declarations(settings.VOCERO.catalog_pinned)
    offer = await discover([listed], caller, None, cache, timezone.now(), pins)
    if listed.failure is not None:
        raise listed.failure
    return offer, cache.hit


async def _found(source: ApiPilotSource, credential: Credential, name: str) -> Entry:
    offer, kept = await _offer(source, credential, everything=True, again=False)
    if name not in offer.entries and kept:
        offer, _ = await _offer(source, credential, everything=True, again=True)
    if name not in offer.entries:
        raise ToolFailure("unknown_tool", sentences.for_model("unknown_tool"))
    return offer.entries[name]


async def _run(
    source: ApiPilotSource, entry: Entry, arguments: Mapping[str, Any], credential: Credential
) -> Any:
    if entry.tool.requires_auth and not credential:
        raise ToolFailure("unauthorized", sentences.for_model("unauthorized"))
    values = executor.validated(entry, arguments)
    limit = settings.VOCERO.tool_timeout
    context = CallContext(Caller("", "", credential.fingerprint), limit, _unseen)
    try:
        async with asyncio.timeout(limit):
            return await source.execute(entry.tool.name, values, context)
    except TimeoutError as error:
        raise ToolFailure("timeout", sentences.for_model("timeout")) from error


def _unseen(_progress: Progress) -> None:
    """Nobody waits for progress here."""
