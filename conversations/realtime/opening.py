"""How a session at the speech service begins: declared, then decided once between native and marker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from conversations.realtime import prompt, shapes, wire
from conversations.realtime.connection import Connection, SpeechUnavailable
from conversations.realtime.interpreter import Interpreter
from tools.contract import Tool
from tools.naming import alias

CREATED_WAIT = 8.0
UPDATED_WAIT = 2.0

_FORMAT = {"type": "audio/pcm", "rate": 24_000}
_TRANSCRIBER = "whisper-1"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the service is told: the caller's tools, how they may be picked, and what the page adds.

    `wanted` is `auto`, `native` or `marker`. `page` holds what the client set, in GA's nested shape,
    `background` what the server knows beforehand, as `prompt.background` words it. A `ticket` ends the
    instructions: with it the service's language model shows for which conversation it asks.
    """

    caller_name: str
    tools: tuple[Tool, ...]
    wanted: str
    page: Mapping[str, Any] = field(default_factory=dict)
    background: str = ""
    ticket: str = field(default="", compare=False, repr=False)

    def instructions(self, selection: str) -> str:
        """The instructions for one way of picking tools, without a ticket; only `marker` has marker rules."""
        marked = self.tools if selection == "marker" else ()
        page = str(self.page.get("instructions") or "")
        return prompt.instructions(self.caller_name, page, marked, self.background)

    def session(self, selection: str) -> dict[str, Any]:
        """The session as it is declared for one way of picking tools."""
        own = prompt.declarations(self.tools) if selection == "native" else []
        page_audio = self.page.get("audio") or {}
        words = prompt.vocabulary(self.tools)
        transcription = {"model": _TRANSCRIBER, **({"prompt": words} if words else {})}
        side_in = {"format": _FORMAT, "transcription": transcription, **page_audio.get("input", {})}
        if isinstance(side_in["transcription"], dict):
            side_in["transcription"] = {**transcription, **side_in["transcription"]}
        session = {
            "output_modalities": self.page.get("output_modalities") or ["audio"],
            "instructions": prompt.ticketed(self.instructions(selection), self.ticket),
            "tools": [*own, *(self.page.get("tools") or [])],
            "tool_choice": self.page.get("tool_choice") or "auto",
            "audio": {"input": side_in, "output": {"format": _FORMAT, **page_audio.get("output", {})}},
        }
        limit = self.page.get("max_output_tokens")
        return session if limit is None else {**session, "max_output_tokens": limit}


@dataclass(frozen=True, slots=True)
class Opened:
    """A session that runs: how tools are picked (empty without tools), and what the service tells of it."""

    selection: str
    session: Mapping[str, Any]
    created: Mapping[str, Any]
    interpreter: Interpreter


@dataclass(frozen=True, slots=True)
class Line:
    """A connection whose dialect is known."""

    connection: Connection
    interpreter: Interpreter
    new_id: Callable[[str], str]


def decide(wanted: str, declared: frozenset[str], confirmed: frozenset[str] | None) -> str:
    """`native` or `marker`: with `auto`, native only where the service confirms every declared tool."""
    if wanted != "auto":
        return wanted
    return "native" if confirmed is not None and declared <= confirmed else "marker"


async def open_session(
    connection: Connection, declaration: Declaration, new_id: Callable[[str], str]
) -> Opened:
    """Declares the session and waits, bounded, until it is known how tools are picked.

    Raises SpeechUnavailable.
    """
    created = await _answer(connection, {"session.created", "error"}, CREATED_WAIT)
    if created is None:
        raise SpeechUnavailable("no session.created")
    if created["type"] == "error":
        raise SpeechUnavailable(wire.error_code(created))
    interpreter = Interpreter(_session(created), new_id)
    told = interpreter.session(_session(created))
    line = Line(connection, interpreter, new_id)
    names = frozenset(alias(tool.name) for tool in declaration.tools)
    first = "" if not names else "marker" if declaration.wanted == "marker" else "native"
    updated = await _declare(line, declaration, first)
    selection = first
    if first == "native":
        confirmed = wire.declared_names(updated) if updated is not None else None
        selection = decide(declaration.wanted, names, confirmed)
        if selection != first:
            updated = await _declare(line, declaration, selection)
    # Without its tools and instructions, which are long, and which nobody asks it for.
    session = shapes.fit({**told, **(updated or {})}, shapes.SESSION)
    return Opened(selection, session, shapes.fit(told, shapes.SESSION), interpreter)


async def _declare(line: Line, declaration: Declaration, selection: str) -> Mapping[str, Any] | None:
    """The session that the service tells in answer; None where it complained or did not answer in time.

    A complaint is tried once more without the page's audio settings: a service may lack what they name.
    """
    bare = replace(declaration, page={**declaration.page, "audio": {}})
    for declared in (declaration, bare) if declaration.page.get("audio") else (declaration,):
        frame = wire.session_update(declared.session(selection), line.new_id("event"))
        await line.connection.send(line.interpreter.encode(frame))
        answer = await _answer(line.connection, {"session.updated", "error"}, UPDATED_WAIT)
        if answer is None:
            return None
        if answer["type"] == "session.updated":
            return line.interpreter.session(_session(answer))
    return None


async def _answer(connection: Connection, names: set[str], seconds: float) -> dict[str, Any] | None:
    """The first event of one of these types; whatever else a new session says first is of no interest."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                frame = await connection.receive()
                if wire.kind(frame) in names:
                    return wire.whole(frame)
    except TimeoutError:
        return None


def _session(event: Mapping[str, Any]) -> Mapping[str, Any]:
    session = event.get("session")
    return session if isinstance(session, dict) else {}
