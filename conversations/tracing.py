"""Spans of turns, tool calls and model requests, from the records of calls; nothing anybody said is in them.

Names and attributes follow OpenTelemetry's conventions for generative AI. Each turn is a trace; those
of a conversation share `gen_ai.conversation.id`. Our spans are never OpenTelemetry's current ones, so that no
library continues them to a service outside.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode, Tracer, set_span_in_context
from structlog.contextvars import get_contextvars

from conversations.core.records import CallClosed, CallOpened, Record, TurnClosed, TurnOpened

MOST_OPEN = 5_000
LONGEST_NAME = 80
NANOSECONDS = 1_000_000_000


class Traces:
    """Does nothing until `begin`; `record` takes what the journal takes."""

    def __init__(self) -> None:
        self._tracer: Tracer | None = None
        self._open: OrderedDict[str, Span] = OrderedDict()

    def begin(self, tracer: Tracer | None) -> None:
        """From here on spans go to this tracer; with None nowhere."""
        self._tracer = tracer
        self._open.clear()

    def record(self, record: Record) -> None:
        """One entry of the journal, whether or not there was room for it."""
        if self._tracer is None:
            return
        match record:
            case TurnOpened():
                self._turn_opened(self._tracer, record)
            case TurnClosed():
                self._turn_closed(record)
            case CallOpened():
                self._call_opened(self._tracer, record)
            case CallClosed():
                self._call_closed(record)

    @contextmanager
    def chat(self, provider: str, model: str) -> Iterator[Span]:
        """A request to a language model, inside the turn whose task asks."""
        if self._tracer is None:
            yield INVALID_SPAN
            return
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
        }
        turn = self._within(str(get_contextvars().get("turn", "")))
        span = self._tracer.start_span(f"chat {model}", turn, SpanKind.CLIENT, attributes)
        try:
            yield span
        finally:
            span.end()

    def _within(self, turn_id: str) -> Context:
        """That turn's span as the parent; of a turn that is not known here there is none."""
        return set_span_in_context(self._open.get(turn_id, INVALID_SPAN), Context())

    def _keep(self, key: str, span: Span) -> None:
        self._open[key] = span
        if len(self._open) > MOST_OPEN:
            _, oldest = self._open.popitem(last=False)
            failed(oldest, "lost")
            oldest.end()

    def _turn_opened(self, tracer: Tracer, turn: TurnOpened) -> None:
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": "vocero",
            "gen_ai.agent.name": "vocero",
            "gen_ai.conversation.id": turn.conversation_id,
            "vocero.turn.id": turn.turn_id,
            "vocero.turn.origin": turn.origin,
        }
        span = tracer.start_span(
            "invoke_agent vocero", Context(), SpanKind.INTERNAL, attributes, start_time=_moment(turn.at)
        )
        self._keep(turn.turn_id, span)

    def _turn_closed(self, turn: TurnClosed) -> None:
        span = self._open.pop(turn.turn_id, None)
        if span is None:
            return
        span.set_attribute("vocero.turn.outcome", turn.outcome)
        if turn.answered_at is not None and turn.caller_done_at is not None:
            waited = max(turn.answered_at - turn.caller_done_at, 0.0)
            span.set_attribute("vocero.turn.first_answer_ms", round(waited * 1000))
        if turn.outcome == "failed":
            failed(span, turn.code or "failed")
        span.end(_moment(turn.at))

    def _call_opened(self, tracer: Tracer, call: CallOpened) -> None:
        # A name that no source offers is the model's own text.
        name = call.name[:LONGEST_NAME] if call.source else "unknown"
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call.call_id,
            "gen_ai.conversation.id": call.conversation_id,
            "vocero.tool.source": call.source,
            "vocero.tool.selection": call.selection,
        }
        parent, start = self._within(call.turn_id), _moment(call.at)
        span = tracer.start_span(
            f"execute_tool {name}", parent, SpanKind.INTERNAL, attributes, start_time=start
        )
        self._keep(call.call_id, span)

    def _call_closed(self, call: CallClosed) -> None:
        span = self._open.pop(call.call_id, None)
        if span is None:
            return
        span.set_attribute("vocero.tool.result_chars", call.result_chars)
        if call.code:
            failed(span, call.code)
        span.end(_moment(call.at))


def failed(span: Span, code: str) -> None:
    """It failed with this code of ours; the words of whoever failed are not told."""
    span.set_attribute("error.type", code)
    span.set_status(StatusCode.ERROR)


def _moment(at: float) -> int:
    return int(at * NANOSECONDS)


TRACES = Traces()
