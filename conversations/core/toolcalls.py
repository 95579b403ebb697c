"""The tool calls of a live call: admitted or refused, answered once, closed once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conversations.core.effects import CancelTool, Effect, Keep, RunTool, SendItem, Tell
from conversations.core.events import FunctionCall, ToolEnded, ToolProgressed
from conversations.core.markers import Malformed, Selection, neutralise
from conversations.core.policy import Setup
from conversations.core.records import CallClosed, CallOpened
from conversations.core.turns import Picked, Turn

Chosen = FunctionCall | Selection | Malformed
NAME_LIMIT = 200


class ToolCalls:
    """Every call that is not closed yet, of the current turn and of those before it."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._open: dict[str, Picked] = {}
        self._told_by_service: set[str] = set()

    @property
    def running(self) -> bool:
        """Whether a tool of the current turn runs."""
        return any(picked.running for picked in self._open.values())

    def first_told(self, call: FunctionCall) -> bool:
        """Whether this native call is new; a service tells the same call in several events."""
        new = call.call_id not in self._told_by_service
        self._told_by_service.add(call.call_id)
        return new

    def pick(self, turn: Turn, chosen: Chosen, generation: int, now: float) -> list[Effect]:
        """The model picked a tool: run it, or refuse with a code. One row either way."""
        picked = self._picked(turn, chosen, generation)
        turn.batch.append(picked)
        counted = turn.allowance.attempt()
        arguments = self._arguments(chosen)
        code = "call_limit" if not counted else self._objection(chosen, arguments)
        room = 0
        if not code and arguments is not None:
            picked.digest = f"{picked.name}:{arguments[1]}"
            code, room = turn.allowance.admit(picked.call_id, picked.digest)
        opened = self._row(turn, picked, arguments, now)
        if code:
            return [Keep(opened), *self._refuse(picked, code, now)]
        picked.running = True
        self._open[picked.call_id] = picked
        text = arguments[0] if arguments is not None else "{}"
        return [RunTool(picked.call_id, picked.name, text, room, opened), self._started(picked)]

    def pick_browsers(self, turn: Turn, call: FunctionCall, generation: int) -> None:
        """The model picked a tool of the browser's own: the answer waits for it."""
        picked = self._picked(turn, call, generation)
        picked.browser_owned = True
        turn.batch.append(picked)

    def browsers_call(self, turn: Turn | None, service_call_id: str) -> Picked | None:
        """The browser's own call of that id that still waits, if it does."""
        for picked in turn.batch if turn is not None else ():
            waits = picked.browser_owned and picked.output is None
            if waits and picked.service_call_id == service_call_id:
                return picked
        return None

    def give_up_on_browser(self, turn: Turn) -> None:
        """The browser did not answer in time; its calls are answered for it."""
        for picked in turn.batch:
            if picked.browser_owned and picked.output is None:
                picked.output = self._setup.for_model["timeout"]

    def refuse_stale(self, turn: Turn, call: FunctionCall, generation: int, now: float) -> list[Effect]:
        """A native call out of a superseded response: answered, so that the service does not wait for it."""
        picked = self._picked(turn, call, generation)
        closed = CallClosed(picked.call_id, "failed", now, 0, "stale", ref=self._setup.new_id("ref"))
        output = self.output_item(call.call_id, self._setup.for_model["cancelled"])
        return [Keep(self._row(turn, picked, self._arguments(call), now)), Keep(closed), output]

    def ended(self, turn: Turn | None, event: ToolEnded, now: float) -> list[Effect]:
        """A tool ended: its row is closed; its output counts only while its turn is current."""
        picked = self._open.pop(event.call_id, None)
        if picked is None:
            return []
        current = turn is not None and turn.turn_id == picked.turn_id and picked.running
        ref = picked.ref or (self._setup.new_id("ref") if event.status == "failed" else "")
        closed = CallClosed(
            call_id=picked.call_id,
            status=event.status,
            at=now,
            duration_ms=event.duration_ms,
            code=event.code,
            result_chars=len(event.output),
            truncated=event.truncated,
            excerpt=event.excerpt,
            ref=ref,
        )
        if not current or turn is None:
            return [Keep(closed)]
        picked.running = False
        picked.output = neutralise(event.output)
        turn.allowance.ended(picked.call_id, picked.digest, event.code, len(picked.output))
        return [Keep(closed), self._told_end(picked, event, ref)]

    def progressed(self, event: ToolProgressed) -> list[Effect]:
        """Progress of a running tool, for the caller."""
        picked = self._open.get(event.call_id)
        if picked is None or not picked.running:
            return []
        fields = {"progress": event.progress, "total": event.total, "message": event.message}
        return [Tell("vocero.tool.progress", {"call_id": event.call_id, **fields})]

    def cancel(self, turn: Turn | None) -> list[Effect]:
        """The turn is over before its calls: end the tools, answer the service at once, tell the caller."""
        effects: list[Effect] = []
        for picked in [one for one in self._open.values() if one.running]:
            picked.running = False
            picked.ref = self._setup.new_id("ref")
            effects.append(CancelTool(picked.call_id))
            effects.append(self._told_failure(picked, "cancelled", picked.ref))
        for picked in turn.batch if turn is not None else []:
            if picked.service_call_id and not picked.sent:
                picked.sent = True
                output = self._setup.for_model["cancelled"]
                effects.append(self.output_item(picked.service_call_id, output))
        return effects

    def outputs(self, turn: Turn) -> list[Effect]:
        """The outputs of the batch that the model has not seen, in the order in which it picked."""
        effects: list[Effect] = []
        for picked in turn.batch:
            if picked.output is None or picked.sent:
                continue
            picked.sent = True
            if picked.service_call_id:
                effects.append(self.output_item(picked.service_call_id, picked.output))
            else:
                effects.append(SendItem(self.message(picked.output)))
        return effects

    def message(self, text: str) -> Mapping[str, Any]:
        """A hidden user message of one `input_text`."""
        content = [{"type": "input_text", "text": text}]
        return {"id": self._setup.new_id("item"), "type": "message", "role": "user", "content": content}

    def _picked(self, turn: Turn, chosen: Chosen, generation: int) -> Picked:
        native = isinstance(chosen, FunctionCall)
        turn.picks += 1
        return Picked(
            call_id=self._setup.new_id("call"),
            turn_id=turn.turn_id,
            turn_index=turn.index,
            sequence=turn.picks,
            service_call_id=chosen.call_id if isinstance(chosen, FunctionCall) else "",
            name="" if isinstance(chosen, Malformed) else chosen.name[:NAME_LIMIT],
            selection="native" if native else "marker",
            generation=generation,
        )

    def _arguments(self, chosen: Chosen) -> tuple[str, str] | None:
        return None if isinstance(chosen, Malformed) else self._setup.canonical(chosen.arguments)

    def _row(self, turn: Turn, picked: Picked, arguments: tuple[str, str] | None, now: float) -> CallOpened:
        return CallOpened(
            call_id=picked.call_id,
            conversation_id=self._setup.conversation_id,
            turn_id=turn.turn_id,
            sequence=picked.sequence,
            source=self._setup.server_tools.get(picked.name, ""),
            selection=picked.selection,
            name=picked.name,
            arguments=arguments[0] if arguments is not None else None,
            argument_digest=arguments[1] if arguments is not None else "",
            generation=picked.generation,
            at=now,
        )

    def _objection(self, chosen: Chosen, arguments: object) -> str:
        if isinstance(chosen, Malformed):
            return "malformed_selection"
        if arguments is None:
            return "invalid_arguments" if isinstance(chosen, FunctionCall) else "malformed_selection"
        if chosen.name not in self._setup.server_tools:
            return "unknown_tool"
        return ""

    def _refuse(self, picked: Picked, code: str, now: float) -> list[Effect]:
        ref = self._setup.new_id("ref")
        picked.output = self._setup.for_model[code]
        closed = CallClosed(picked.call_id, "failed", now, 0, code, len(picked.output), ref=ref)
        return [Keep(closed), self._told_failure(picked, code, ref)]

    def _started(self, picked: Picked) -> Tell:
        label = self._setup.labels.get(picked.name, picked.name.replace("_", " ").capitalize())
        fields = {"call_id": picked.call_id, "name": picked.name, "label": label, "turn": picked.turn_index}
        return Tell("vocero.tool.started", fields)

    def _told_end(self, picked: Picked, event: ToolEnded, ref: str) -> Tell:
        if event.status == "failed":
            return self._told_failure(picked, event.code, ref)
        fields = {
            "call_id": picked.call_id,
            "name": picked.name,
            "turn": picked.turn_index,
            "duration_ms": event.duration_ms,
            "sources": [{"title": title} for title in event.titles],
        }
        return Tell("vocero.tool.completed", fields)

    def _told_failure(self, picked: Picked, code: str, ref: str) -> Tell:
        fields = {
            "call_id": picked.call_id,
            "name": "" if code == "unknown_tool" else picked.name,
            "turn": picked.turn_index,
            "code": code,
            "message": self._setup.for_caller[code],
            "ref": ref,
        }
        return Tell("vocero.tool.failed", fields)

    def output_item(self, service_call_id: str, output: str) -> SendItem:
        """The answer to one native call."""
        item = {"id": self._setup.new_id("item"), "type": "function_call_output"}
        return SendItem({**item, "call_id": service_call_id, "output": output})
