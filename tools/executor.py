"""One call, from a name and arguments to an outcome: find, validate, bound, run; it never raises."""

from __future__ import annotations

import asyncio
import json
import re
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from tools import arguments as args
from tools import results, schema, sentences
from tools.arguments import ArgumentsMalformed, canonical
from tools.catalog import Entry, Offer
from tools.contract import CallContext, ToolFailure, ToolResult
from tools.naming import alias

__all__ = ["MIN_ROOM", "Outcome", "canonical", "objection", "refusal", "run", "validated"]

log = structlog.get_logger(__name__)

# Room for a label and the shortest result; less than this is refused before anything runs.
MIN_ROOM = 512
MAX_MESSAGE = 2000
PART_FOR_WHOLE = (
    "The arguments repeat a result that was cut, so they hold only a part of it. Nothing was done. "
    "Read the rest first, or leave that text out."
)
# A backend may tell of an expired sign-in in words, under a status that says that all is well.
DENIED = re.compile(
    r"\bunauthori[sz]ed\b|\bunauthenticated\b|\bnot (?:authenticated|signed in|logged in)\b"
    r"|\b(?:token|session|sign-?in|login)\b.{0,20}\b(?:expired|invalid|revoked)\b"
    r"|\b(?:expired|invalid|revoked) (?:access )?(?:token|session)\b|\b(?:sign|log) in again\b",
    re.IGNORECASE,
)
# Likewise of what this caller may not have; "not allowed" alone is said of arguments, too.
FORBIDDEN = re.compile(
    r"\bforbidden\b|\b(?:access|permission) (?:is |was )?(?:denied|refused)\b|\bnot authori[sz]ed to\b"
    r"|\b(?:no|not have|n[’']t have|lacks?|insufficient)(?: the| any)? (?:permissions?|rights|privileges?)\b"
    r"|\b(?:no|not have|n[’']t have) access(?= to\b|\W*$)"
    r"|\b(?:you|caller|user)(?: are| is)? (?:may |can|must )?not (?:allowed|permitted|authori[sz]ed|entitled"
    r"|see|view|read|access)\b"
    r"|\b(?:acceso|permiso) denegado\b|\bno (?:tiene|tienes) (?:acceso|permisos?)\b|\bno autorizado\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one call: `status` is completed or failed, `code` a failure code or empty.

    `output` is the exact text for the model, `chars` its length in code points, `titles` are for the caller,
    `excerpt` (500 code points at most) is for the audit row. `denied` says that the tool's own words tell of
    a sign-in that it does not accept.
    """

    status: str
    code: str
    output: str
    chars: int
    truncated: bool
    titles: tuple[str, ...]
    excerpt: str
    duration_ms: int
    denied: bool = False


async def run(
    offer: Offer, name: str, arguments: str | Mapping[str, Any] | None, context: CallContext, room: int
) -> Outcome:
    """Runs the offered tool of exactly this name, within `context.timeout` seconds and `room` code points.

    Every failure is an outcome; only cancellation passes through, after the source has told its server.
    """
    started = time.monotonic()
    entry = offer.entries.get(name)
    # A name that is not offered is the model's own text, which is not logged.
    known = name if entry else ""
    try:
        rendered = await _call(entry, arguments, context, room)
    except ToolFailure as failure:
        outcome = _failed(failure, context, room, started)
    except TimeoutError:
        outcome = _failed(ToolFailure("timeout", sentences.for_model("timeout")), context, room, started)
    except Exception as error:
        # A bug of ours or of a source. Its text may hold arguments or results, so only the place is logged.
        place = "".join(traceback.format_tb(error.__traceback__))
        log.error("tool.failed", tool=known, error=type(error).__name__, place=place)
        outcome = _failed(ToolFailure("internal", sentences.for_model("internal")), context, room, started)
    else:
        outcome = Outcome(
            status="completed",
            code="",
            output=rendered.text,
            chars=len(rendered.text),
            truncated=rendered.truncated,
            titles=rendered.titles,
            excerpt=rendered.excerpt,
            duration_ms=_since(started),
        )
    # Whoever waits for the outcome goes on first.
    asyncio.get_running_loop().call_soon(
        partial(
            log.info,
            "tool.executed",
            tool=known,
            status=outcome.status,
            code=outcome.code,
            duration_ms=outcome.duration_ms,
            chars=outcome.chars,
        )
    )
    return outcome


def objection(offer: Offer, name: str, arguments: str) -> str:
    """What the model reads of arguments that the offered tool would refuse; empty where they fit."""
    entry = offer.entries.get(name)
    if entry is None:
        return refusal("unknown_tool", sentences.for_model("unknown_tool"))
    try:
        validated(entry, arguments)
    except ToolFailure as failure:
        return refusal(failure.code, failure.message)
    return ""


def refusal(code: str, message: str) -> str:
    """The failure as the model reads it: one JSON object, no label."""
    return json.dumps({"error": {"code": code, "message": message}}, ensure_ascii=False)


async def _call(
    entry: Entry | None, arguments: str | Mapping[str, Any] | None, context: CallContext, room: int
) -> results.Rendered:
    if entry is None:
        raise ToolFailure("unknown_tool", sentences.for_model("unknown_tool"))
    if room < MIN_ROOM:
        raise ToolFailure("result_budget", sentences.for_model("result_budget"))
    values = validated(entry, arguments)
    async with asyncio.timeout(context.timeout):
        result = await entry.source.call(entry.tool.name, values, context)
    if result.is_error:
        words = _words(result.data)
        code = "forbidden" if FORBIDDEN.search(words[:MAX_MESSAGE]) else "tool_error"
        raise ToolFailure(code, words or sentences.for_model(code))
    if results.is_large(result.data):
        return await asyncio.to_thread(_rendered, entry, result, context, room)
    return _rendered(entry, result, context, room)


def validated(entry: Entry, arguments: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments as the tool takes them, or ToolFailure("invalid_arguments") with what is wrong."""
    try:
        values = args.read(arguments)
    except ArgumentsMalformed as error:
        raise ToolFailure("invalid_arguments", str(error)) from error
    problem = schema.validate(entry.arguments, values)
    if problem:
        raise ToolFailure("invalid_arguments", f"The arguments do not fit the schema: {problem}")
    if "truncated" not in entry.tool.parameters.get("properties", {}) and results.repeats_a_cut(values):
        raise ToolFailure("invalid_arguments", PART_FOR_WHOLE)
    return values


def _rendered(entry: Entry, result: ToolResult, context: CallContext, room: int) -> results.Rendered:
    """The result as text, with a note for the operator when it breaks the tool's own output schema."""
    rendered = results.render(alias(entry.tool.name), result, room, context.caller.token)
    if rendered is None:
        raise ToolFailure("result_budget", sentences.for_model("result_budget"))
    problem = schema.validate(entry.output, result.data) if entry.output else None
    if problem is None:
        return rendered
    log.warning("tool.output_unexpected", tool=entry.tool.name)
    note = results.excerpt(f"[does not fit its output schema: {problem[:200]}] {rendered.excerpt}")
    return results.Rendered(rendered.text, rendered.truncated, rendered.titles, note)


def _words(data: Any) -> str:
    """What a tool says about its own failure, as text."""
    if isinstance(data, str):
        return data.strip()
    return json.dumps(results.normalise(data), ensure_ascii=False) if data else ""


def _failed(failure: ToolFailure, context: CallContext, room: int, started: float) -> Outcome:
    spare = max(min(MAX_MESSAGE, room - len(refusal(failure.code, ""))), 80)
    message = results.clean(failure.message, context.caller.token)
    output = refusal(failure.code, results.shorten(message, spare))
    return Outcome(
        status="failed",
        code=failure.code,
        output=output,
        chars=len(output),
        truncated=False,
        titles=(),
        excerpt=results.excerpt(message),
        duration_ms=_since(started),
        denied=failure.code == "tool_error" and DENIED.search(message[:MAX_MESSAGE]) is not None,
    )


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
