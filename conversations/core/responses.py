"""The one sender of `response.create`: one outstanding, requests coalesced, races waited out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conversations.core.effects import CancelResponse, ClearTimer, CreateResponse, Effect, SetTimer

CANCEL_WAIT = 2.0
CANCEL_TIMER = "cancelled-response"

# Answers that only say that the service was faster than our request.
BENIGN = frozenset(
    {
        "conversation_already_has_active_response",
        "response_cancel_not_active",
        "function_call_output_pending",
    }
)


class Responses:
    """Which responses run, which one was asked for, and which one is wanted next.

    A response that is cancelled before it was announced is doomed: it is cancelled by id on arrival.
    """

    def __init__(self) -> None:
        self._active: set[str] = set()
        self._doomed: set[str] = set()
        self._wanted: CreateResponse | None = None
        self._asked: CreateResponse | None = None
        self._asked_doomed = False
        self._answered_by = ""
        self._unacknowledged = ""
        self._service_acknowledges = False
        self._cancelling = False

    @property
    def busy(self) -> bool:
        """Whether a response runs or was asked for."""
        return bool(self._active or self._asked)

    @property
    def expecting(self) -> bool:
        """Whether an answer that may be heard is on its way: running, asked for, or wanted."""
        asked = self._asked is not None and not self._asked_doomed
        return bool(self._active - self._doomed or asked or self._wanted)

    @property
    def audible(self) -> bool:
        """Whether a response runs that may still be heard."""
        return bool(self._active - self._doomed)

    def item_sent(self, item_id: str) -> None:
        """An item of ours is on its way; the answer to it cannot begin before the service has it."""
        self._unacknowledged = item_id

    def item_acknowledged(self, item_id: str) -> None:
        """The service has that item."""
        self._service_acknowledges = True
        if item_id == self._unacknowledged:
            self._unacknowledged = ""

    def want(self, options: Mapping[str, Any] | None = None, last: bool = False) -> list[Effect]:
        """Ask for a response as soon as none runs; a second wish before that is the same wish."""
        earlier = self._wanted or CreateResponse()
        self._wanted = CreateResponse({**earlier.options, **(options or {})}, last or earlier.last)
        return self._send()

    def started(self, response_id: str) -> tuple[bool, list[Effect]]:
        """A response is announced, or its first output came: whether it may be heard, and what follows."""
        if response_id in self._active:
            return response_id not in self._doomed, []
        self._active.add(response_id)
        if self._asked is None:
            return True, []
        self._answered_by = response_id
        if self._asked_doomed:
            self._asked, self._asked_doomed = None, False
            self._doomed.add(response_id)
            return False, [CancelResponse(response_id)]
        if not (self._service_acknowledges and self._unacknowledged):
            self._asked = None
        return True, []

    def finished(self, response_id: str) -> list[Effect]:
        """A response ended; a request that was sent before it began is settled by it."""
        if response_id == self._answered_by or response_id not in self._active:
            self._asked, self._asked_doomed = None, False
        self._active.discard(response_id)
        self._doomed.discard(response_id)
        return self._send()

    def cancel(self) -> list[Effect]:
        """Everything that runs, was asked for or is wanted is to end."""
        self._wanted = None
        running = sorted(self._active - self._doomed)
        self._doomed |= self._active
        self._asked_doomed = self._asked is not None
        effects: list[Effect] = [CancelResponse(one) for one in running]
        return [*effects, *self._watch_cancel()] if self.busy else effects

    def cancel_one(self, response_id: str) -> list[Effect]:
        """This response has said enough; the wish for the next one stays."""
        if response_id not in self._active or response_id in self._doomed:
            return []
        self._doomed.add(response_id)
        return [CancelResponse(response_id), *self._watch_cancel()]

    def waited_long_enough(self) -> list[Effect]:
        """A service may never confirm a cancel: after a bounded wait the cancelled ones count as ended."""
        self._cancelling = False
        self._active -= self._doomed
        if self._asked_doomed:
            self._asked, self._asked_doomed = None, False
        return self._send()

    def refused(self, code: str) -> list[Effect]:
        """The service refused our request: unless what runs answers it, the wish waits for its end."""
        refused, self._asked = self._asked, None
        doomed, self._asked_doomed = self._asked_doomed, False
        if refused is not None and not doomed and self._active and code in BENIGN:
            self._wanted = self._wanted or refused
        return self._send()

    def _watch_cancel(self) -> list[Effect]:
        if self._cancelling:
            return []
        self._cancelling = True
        return [SetTimer(CANCEL_TIMER, CANCEL_WAIT)]

    def _send(self) -> list[Effect]:
        effects: list[Effect] = []
        if self._cancelling and not self.busy:
            self._cancelling = False
            effects.append(ClearTimer(CANCEL_TIMER))
        if self._wanted is None or self.busy:
            return effects
        self._asked, self._wanted, self._answered_by = self._wanted, None, ""
        return [*effects, self._asked]
