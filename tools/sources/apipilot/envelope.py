"""What an ApiPilot bridge says: its envelope, its list of tools, its errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tools import results, sentences
from tools.contract import Tool, ToolFailure
from tools.results import HIDDEN

NAME = "apipilot"
NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}
MAX_MESSAGE = 500
MAX_RAW = 2000
UNREADABLE = "The bridge answered in a form that cannot be read."
REDIRECTS = "The bridge redirects elsewhere, which is refused."
TOO_LARGE = "The bridge's answer is too large."
STATUSES = {401: "unauthorized", 403: "forbidden", 408: "timeout", 429: "unavailable", 504: "timeout"}


class BridgeFailure(ToolFailure):
    """A call that the bridge did not serve; `status_code` and `raw` are its own words, for diagnostics.

    With `said` the message is the bridge's, meant for people.
    """

    def __init__(
        self,
        code: str,
        message: str = "",
        status_code: int | None = None,
        raw: Any = None,
        said: bool = False,
    ) -> None:
        super().__init__(code, message or sentences.for_model(code))
        self.status_code = status_code
        self.raw = raw
        self.said = said


def opened(status: int, body: bytes, secrets: Sequence[str]) -> Any:
    """What the answer holds: the envelope's `data`, or all of it where there is no envelope.

    Raises BridgeFailure for an error of the bridge or of a tool, with the secrets taken out of its words.
    """
    if 300 <= status < 400:
        raise BridgeFailure("unavailable", REDIRECTS, status)
    try:
        answer = json.loads(_hidden(body.decode(), secrets))
    except (ValueError, RecursionError) as error:
        raise _without_words(status) from error
    enveloped = isinstance(answer, dict) and isinstance(answer.get("success"), bool)
    if status >= 400 or (enveloped and not answer["success"]):
        raise _failure(status, answer)
    if not enveloped:
        return answer
    return answer.get("data")


def tools_in(data: Any) -> list[Tool]:
    """The listed tools, odd ones included for whoever judges them; one that held a secret is left out."""
    listed = data.get("tools") if isinstance(data, dict) else data
    if not isinstance(listed, list):
        raise BridgeFailure("tool_error", UNREADABLE)
    return [_tool(entry) for entry in listed if isinstance(entry, dict) and HIDDEN not in json.dumps(entry)]


def _tool(entry: Mapping[str, Any]) -> Tool:
    description, parameters = entry.get("description"), entry.get("parameters")
    return Tool(
        name=str(entry.get("name", ""))[:200],
        description=description if isinstance(description, str) else "",
        # A tool without parameters may leave them out; anything else is for the schema's check to judge.
        parameters=NO_PARAMETERS if parameters is None else parameters,
        source=NAME,
        requires_auth=bool(entry.get("requires_auth")),
    )


def _without_words(status: int) -> BridgeFailure:
    code = _code(status) if status >= 400 else "tool_error"
    return BridgeFailure(code, UNREADABLE if code == "tool_error" else "", status)


def _failure(status: int, answer: Any) -> BridgeFailure:
    error = answer.get("error") if isinstance(answer, dict) else None
    told = error if isinstance(error, dict) else {}
    said = error if isinstance(error, str) else told.get("message")
    own = told.get("status_code")
    if status < 400 and isinstance(own, int) and 400 <= own < 600:
        status = own
    code = _code(status) if status >= 400 else "tool_error"
    words = results.clean(said).strip() if isinstance(said, str) else ""
    message = results.shorten(words, MAX_MESSAGE) if code == "tool_error" else ""
    return BridgeFailure(code, message, status, _raw(error), said=bool(message))


def _code(status: int) -> str:
    return STATUSES.get(status, "unavailable" if status >= 500 else "tool_error")


def _raw(error: Any) -> Any:
    """The bridge's error for diagnostics, or its beginning as text where it is long."""
    text = json.dumps(results.normalise(error), ensure_ascii=False)
    return json.loads(text) if len(text) <= MAX_RAW else results.shorten(text, MAX_RAW)


def _hidden(text: str, secrets: Sequence[str]) -> str:
    """The JSON text without the secrets, however an encoder may have written them."""
    for secret in secrets:
        written = json.dumps(secret)[1:-1]
        if len(secret) >= results.MIN_SECRET:
            text = text.replace(written, HIDDEN).replace(written.replace("/", "\\/"), HIDDEN)
    return text
