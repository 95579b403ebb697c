"""What each caller may use now: discovered per credential, cached, screened, frozen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Protocol

import structlog

from tools import schema, sentences
from tools.contract import Caller, Tool, ToolFailure, ToolSource
from tools.frozen import freeze, shared
from tools.naming import alias
from tools.results import clean
from tools.schema import Compiled, SchemaRefused

log = structlog.get_logger(__name__)

MAX_TOOLS = 256
MAX_REFUSED = 100
# It goes to the model with every session.
MAX_DESCRIPTION = 8_000
MAX_NAME = 128
MAX_SHOWN = 200
# What is beyond these can be used by nobody, and would still lie in every caller's row.
MAX_DECLARATION = 192 * 1024
MAX_LEVELS = 64

Refusals = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """What one source listed for one credential: the cached unit. `error` is a failure code, or empty."""

    source: str
    fingerprint: str
    tools: tuple[Tool, ...]
    refused: Refusals
    digest: str
    fetched_at: datetime
    expires_at: datetime
    error: str = ""


class CatalogCache(Protocol):
    """Where listings are kept, by source and credential fingerprint; `ttl` is in seconds.

    Neither method raises: a cache that is out of order answers None and keeps nothing.
    """

    ttl: float

    async def get(self, source: str, fingerprint: str) -> Listing | None: ...

    async def put(self, listing: Listing) -> None: ...


class Unkept:
    """A CatalogCache that keeps nothing: for tools that are listed anew each time."""

    ttl = 0.0

    async def get(self, source: str, fingerprint: str) -> Listing | None:
        """Nothing."""
        return None

    async def put(self, listing: Listing) -> None:
        """Keeps nothing."""


class Pins(Protocol):
    """Who knows how tools were declared before; neither method raises.

    `note` is told how they are declared now, `held` names those that wait for an operator as they changed.
    """

    async def note(self, source: str, tools: Sequence[Tool], now: datetime) -> None: ...

    async def held(self, source: str, tools: Sequence[Tool]) -> Collection[str]: ...


class Unpinned:
    """Every declaration is as good as any other."""

    async def note(self, source: str, tools: Sequence[Tool], now: datetime) -> None:
        """Keeps nothing."""

    async def held(self, source: str, tools: Sequence[Tool]) -> Collection[str]:
        """Nothing waits."""
        return ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One offered tool with where it lives and its compiled schemas."""

    tool: Tool
    source: ToolSource
    arguments: Compiled
    output: Compiled | None


def _nothing() -> Mapping[str, Entry]:
    return MappingProxyType({})


def _no_names() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Offer:
    """What one caller may use now, deep-frozen; `refused` names what is not offered and why, for operators.

    `entries` are by the tools' own names, `aliases` lead there from the names that the model is told.

    `error` is a sentence for the caller when a source could not be read, else empty; `unauthorized` says that
    a source no longer accepts the credential.
    """

    tools: tuple[Tool, ...] = ()
    refused: Refusals = ()
    digest: str = ""
    error: str = ""
    unauthorized: bool = False
    entries: Mapping[str, Entry] = field(default_factory=_nothing, repr=False, compare=False)
    aliases: Mapping[str, str] = field(default_factory=_no_names, repr=False, compare=False)

    def find(self, name: str) -> Tool | None:
        """The tool of exactly this name."""
        entry = self.entries.get(name)
        return entry.tool if entry else None

    def own_name(self, name: str) -> str:
        """The tool's own name for the one that the model uses; any other name stays as it is."""
        return self.aliases.get(name, name)

    def source_of(self, name: str) -> ToolSource:
        """Where the tool of this name lives; KeyError when it is not offered."""
        return self.entries[name].source


UNPINNED = Unpinned()


async def discover(
    sources: Sequence[ToolSource],
    caller: Caller,
    allowed: Collection[str] | None,
    cache: CatalogCache,
    now: datetime,
    pins: Pins = UNPINNED,
) -> Offer:
    """What the caller may use now, from the cache or the sources: names in `allowed`, or all when it is None.

    Never raises for a source: one that cannot be read leaves its reason in the offer, the others stay.
    """
    listings = await asyncio.gather(*(_listing(source, caller, allowed, cache, now) for source in sources))
    entries: dict[str, Entry] = {}
    aliases: dict[str, str] = {}
    refused: list[tuple[str, str]] = []
    for source, listing in zip(sources, listings, strict=True):
        screened, reasons = _screen(source, listing.tools, allowed)
        kept = {tool.name for tool in listing.tools}
        refused += reasons + [pair for pair in listing.refused if pair[0] not in kept]
        declared = [entry.tool for entry in screened.values()]
        if listing.fetched_at == now and not listing.error:
            await pins.note(source.name, declared, now)
        held = await pins.held(source.name, declared)
        for name, entry in screened.items():
            if name in held:
                refused.append((name, "It was declared differently before; an operator has to approve it."))
            elif name in entries:
                refused.append((name, "Another source has a tool of this name."))
            elif alias(name) in aliases:
                refused.append((name, "The model would know another tool by the same name."))
            else:
                entries[name], aliases[alias(name)] = entry, name
    tools = tuple(entry.tool for entry in entries.values())
    failed = next((listing for listing in listings if listing.error), None)
    return Offer(
        tools=tools,
        refused=tuple(refused),
        digest=digest_of(tools),
        error=sentences.for_discovery(failed.error, failed.source) if failed else "",
        unauthorized=any(listing.error == "unauthorized" for listing in listings),
        entries=MappingProxyType(entries),
        aliases=MappingProxyType(aliases),
    )


def joined(first: Offer, second: Offer) -> Offer:
    """Both offers in one; of two tools that the model would know by one name the first stays."""
    taken = set(first.aliases)
    clashing = {name for known, name in second.aliases.items() if known in taken}
    entries = {name: entry for name, entry in second.entries.items() if name not in clashing}
    tools = (*first.tools, *(entry.tool for entry in entries.values()))
    refused = tuple((name, "Another source has a tool of this name.") for name in sorted(clashing))
    return Offer(
        tools=tools,
        refused=(*first.refused, *second.refused, *refused),
        digest=digest_of(tools),
        error=first.error or second.error,
        unauthorized=first.unauthorized or second.unauthorized,
        entries=MappingProxyType({**first.entries, **entries}),
        aliases=MappingProxyType({**second.aliases, **first.aliases}),
    )


def digest_of(tools: Sequence[Tool]) -> str:
    """SHA-256 of the tools as they are declared, whatever their order; empty for none."""
    return schema.digest_of(sorted((as_json(tool) for tool in tools), key=_by_name)) if tools else ""


def as_json(tool: Tool) -> dict[str, Any]:
    """The tool as a JSON object, for storing."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "output_schema": tool.output_schema,
        "source": tool.source,
        # Absent where it says nothing new: what was stored before keeps its digest.
        **({"requires_auth": True} if tool.requires_auth else {}),
    }


def _by_name(tool: Mapping[str, Any]) -> str:
    return str(tool["name"])


async def _listing(
    source: ToolSource, caller: Caller, allowed: Collection[str] | None, cache: CatalogCache, now: datetime
) -> Listing:
    held = await cache.get(source.name, caller.fingerprint)
    if held is not None and not held.error and held.expires_at > now:
        return held
    expires = now + timedelta(seconds=cache.ttl)
    empty = Listing(source.name, caller.fingerprint, (), (), "", now, expires)
    try:
        listed = tuple(await source.tools(caller))
    except ToolFailure as failure:
        log.warning("catalog.failed", source=source.name, code=failure.code)
        listing = replace(empty, error=failure.code, expires_at=now)
    else:
        taken = listed[:MAX_TOOLS]
        screened, reasons = _screen(source, taken, allowed)
        kept = tuple(tool for tool in taken if not _unfit(tool))
        reasons += [(_shown(tool.name), "The source lists too many tools.") for tool in listed[MAX_TOOLS:]]
        listing = replace(empty, tools=kept, refused=tuple(reasons[:MAX_REFUSED]), digest=digest_of(kept))
        log.info("catalog.discovered", source=source.name, listed=len(listed), offered=len(screened))
    await cache.put(listing)
    return listing


def _screen(
    source: ToolSource, tools: Sequence[Tool], allowed: Collection[str] | None
) -> tuple[dict[str, Entry], list[tuple[str, str]]]:
    entries: dict[str, Entry] = {}
    refused: list[tuple[str, str]] = []
    for tool in tools:
        if allowed is not None and tool.name not in allowed:
            refused.append((_shown(tool.name), "It is not on the list of allowed tools."))
        elif reason := _unfit(tool):
            refused.append((_shown(tool.name), reason))
        elif tool.name in entries:
            refused.append((tool.name, "The source lists two tools of this name."))
        else:
            try:
                entries[tool.name] = _entry(source, tool)
            except SchemaRefused as error:
                refused.append((tool.name, str(error)))
    return entries, refused


def _unfit(tool: Tool) -> str:
    """Why the tool can neither be kept nor told to a model, whatever its schemas say; empty where it can."""
    if not 0 < len(tool.name) <= MAX_NAME:
        return f"Its name does not have 1 to {MAX_NAME} characters."
    if len(tool.description) > MAX_DESCRIPTION:
        return f"Its description is longer than {MAX_DESCRIPTION:,} characters."
    if schema.depth_exceeds([tool.parameters, tool.output_schema], MAX_LEVELS):
        return f"Its schemas are nested more than {MAX_LEVELS} levels deep."
    try:
        text = json.dumps(as_json(tool), ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except ValueError:
        return "Its declaration is neither JSON nor text."
    if size > MAX_DECLARATION:
        return f"Its declaration is larger than {MAX_DECLARATION // 1024} KB."
    # No database keeps a NUL.
    return "Its declaration is neither JSON nor text." if "\\u0000" in text else ""


def _shown(name: str) -> str:
    """A tool's name, odd as it may be, for the operators' list."""
    return clean(name[:MAX_SHOWN])


def _entry(source: ToolSource, tool: Tool) -> Entry:
    declared = schema.declared(tool.parameters)
    arguments, output = schema.compiled(declared), _output(tool)
    promised = shared(tool.output_schema) if output is not None else freeze(tool.output_schema)
    offered = replace(tool, parameters=shared(declared), output_schema=promised)
    return Entry(offered, source, arguments, output)


def _output(tool: Tool) -> Compiled | None:
    """The compiled output schema; a broken one costs its check, not the tool."""
    try:
        return schema.compiled(tool.output_schema) if tool.output_schema is not None else None
    except SchemaRefused as error:
        log.warning("catalog.output_schema_unusable", tool=tool.name, reason=str(error))
        return None
