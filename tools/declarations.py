"""How tools were declared over time: changes are kept for operators, and held back where that is wished."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from django.db import DatabaseError

from tools import schema
from tools.contract import Tool
from tools.frozen import thaw
from tools.models import ToolDeclaration

log = structlog.get_logger(__name__)

# A source that declares its tools anew each time fills no table.
MOST_CHANGES = 50
MOST_ROWS = 5_000


def declaration(tool: Tool) -> dict[str, Any]:
    """What a model learns of the tool, and what is enforced: a change of it is a change of the tool."""
    return {
        "description": tool.description,
        "parameters": thaw(tool.parameters),
        "output_schema": thaw(tool.output_schema),
        **({"requires_auth": True} if tool.requires_auth else {}),
    }


class Declarations:
    """Pins that are ToolDeclaration rows; with `pinned` a change is held back until it is approved."""

    def __init__(self, pinned: bool) -> None:
        self._pinned = pinned

    async def note(self, source: str, tools: Sequence[Tool], now: datetime) -> None:
        """Keeps how the tools are declared now; the first declaration of a name needs no approval."""
        try:
            await _note(source, tools, now)
        except DatabaseError:
            log.warning("catalog.declarations_unwritable", source=source, exc_info=True)

    async def held(self, source: str, tools: Sequence[Tool]) -> Collection[str]:
        """The names that wait for an operator; all of them where that cannot be known."""
        if not self._pinned:
            return ()
        try:
            known = await _known(source, [tool.name for tool in tools])
        except DatabaseError:
            log.warning("catalog.approvals_unreadable", source=source, exc_info=True)
            return [tool.name for tool in tools]
        approved = {tool.name for tool in tools if known.get(tool.name, {}).get(_digest(tool))}
        return [tool.name for tool in tools if tool.name not in approved]


def _digest(tool: Tool) -> str:
    return schema.digest_of(declaration(tool))


async def _note(source: str, tools: Sequence[Tool], now: datetime) -> None:
    shown = {tool.name: declaration(tool) for tool in tools}
    digests = {name: schema.digest_of(one) for name, one in shown.items()}
    known = await _known(source, shown)
    fresh = [name for name, digest in digests.items() if digest not in known.get(name, {})]
    full = bool(fresh) and await ToolDeclaration.objects.filter(source=source).acount() >= MOST_ROWS
    kept = [name for name in fresh if not full and len(known.get(name, {})) <= MOST_CHANGES]
    await ToolDeclaration.objects.abulk_create(
        [
            ToolDeclaration(
                source=source,
                name=name,
                digest=digests[name],
                declaration=shown[name],
                first_seen_at=now,
                last_seen_at=now,
                approved_at=None if name in known else now,
            )
            for name in kept
        ],
        ignore_conflicts=True,
    )
    for name in fresh:
        if name in known:
            log.warning("catalog.changed", source=source, tool=name, kept=name in kept)
    seen = ToolDeclaration.objects.filter(source=source, digest__in=digests.values())
    await seen.aupdate(last_seen_at=now)


async def _known(source: str, names: Sequence[str] | Mapping[str, Any]) -> dict[str, dict[str, bool]]:
    """Of each name the digests that were seen, and whether they are approved."""
    rows = ToolDeclaration.objects.filter(source=source, name__in=list(names))
    known: dict[str, dict[str, bool]] = {}
    async for name, digest, approved_at in rows.values_list("name", "digest", "approved_at"):
        known.setdefault(name, {})[digest] = approved_at is not None
    return known
