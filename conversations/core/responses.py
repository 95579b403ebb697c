"""The one sender of `response.create`: one outstanding, requests coalesced, races waited out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from typing import Any

from conversations.core.effects import CancelResponse, ClearTimer, CreateResponse, Effect, SetTimer
from conversations.core.generation import Generation
from conversations.core.recent import Recent

CANCEL_WAIT = 2.0
CANCEL_TIMER = "cancelled-response"
REMEMBERED = 256
MOST_RUNNING = 64

# Our request came too early: it is sent again when what stands in its way is over.
TOO_EARLY = frozenset({"conversation_already_has_active_response", "function_call_output_pending"})
# Answers that only say that the service was faster than our request.
BENIGN = TOO_EARLY | {"response_cancel_not_active"}


class Responses:
    """Which responses run, which one was asked for, and which one is wanted next.

    A response that is cancelled before it was announced is doomed: it is cancelled by id on arrival. While
    somebody is `absent` who must make or hear it, none is asked for.
    """

    def __init__(
        self, new_event_id: Callable[[], str], generation: Generation, absent: Set[str] = frozenset()
    ) -> None:
        self._new_event_id, self._generation = new_event_id, generation
        self._absent = absent
        self._active: set[str] = set()
        self._doomed: set[str] = set()
        self._lines: Recent[None] = Recent(REMEMBERED)
        self._over: Recent[None] = Recent(REMEMBERED)
        self._wanted: CreateResponse | None = None
        self._wanted_in = 0
        self._asked: CreateResponse | None = None
        self._running: CreateResponse | None = None
        self._asked_doomed = False
        self._unwelcome = False
        self._blocked = False
        self._unacknowledged: tuple[str, str] | None = None
        self._kinds: Recent[str] = Recent(REMEMBERED)
        self._acknowledged_kinds: set[str] = set()
        self._cancelling = False

    @property
    def busy(self) -> bool:
        """Whether a response runs, was asked for, or stands in the way unseen."""
        return bool(self._active or self._asked or self._blocked)

    @property
    def expecting(self) -> bool:
        """Whether an answer that may be heard is on its way: running, asked for, or wanted."""
        asked = self._asked is not None and not self._asked_doomed
        return bool(self._active - self._doomed or asked or self._wish)

    @property
    def outlook(self) -> CreateResponse | None:
        """The request that is to bring the answer, or has brought what runs; None where none is expected."""
        if not self.expecting:
            return None
        asked = None if self._asked_doomed else self._asked
        found = _merged(_merged(self._running, asked), self._wish)
        return None if found.line else found

    @property
    def audible(self) -> bool:
        """Whether a response runs that may still be heard."""
        return bool(self._active - self._doomed)

    def is_doomed(self, response_id: str) -> bool:
        """Whether that response runs and was cancelled by us."""
        return response_id in self._doomed

    def is_running(self, response_id: str) -> bool:
        """Whether that response was announced and has not ended."""
        return response_id in self._active

    def is_over(self, response_id: str) -> bool:
        """Whether that response ended, or counts as ended because its cancel was never confirmed."""
        return response_id in self._over

    def item_sent(self, item_id: str, kind: str) -> list[Effect]:
        """An item of ours is on its way; the answer to it cannot begin before the service has it."""
        self._unacknowledged = (item_id, kind)
        self._kinds.put(item_id, kind)
        self._blocked = False
        return self._send()

    def item_acknowledged(self, item_id: str) -> None:
        """The service has that item, and says so of every item of that kind."""
        if (kind := self._kinds.get(item_id)) is not None:
            self._acknowledged_kinds.add(kind)
        if self._unacknowledged is not None and item_id == self._unacknowledged[0]:
            self._unacknowledged = None

    def want(self, options: Mapping[str, Any] | None = None, last: bool = False) -> list[Effect]:
        """Ask for a response as soon as none runs; a second wish before that is the same wish."""
        return self._want(self._wish, CreateResponse(options or {}, last))

    def want_line(self, line: str) -> list[Effect]:
        """Ask for these words and no others, once none runs; any other wish comes before it."""
        return self._want(CreateResponse(last=True, line=line), self._wish)

    def is_line(self, response_id: str) -> bool:
        """Whether that response says a line of ours, and answers nothing."""
        return response_id in self._lines

    def go_on(self) -> list[Effect]:
        """Whoever was absent is back: what was wanted meanwhile is asked for."""
        return self._send()

    def started(self, response_id: str) -> tuple[bool, list[Effect]]:
        """A response is announced, or its first output came: whether it may be heard, and what follows."""
        if response_id in self._over:
            return False, []
        if response_id in self._active:
            return response_id not in self._doomed, []
        if len(self._active) >= MOST_RUNNING:
            self._note_end(response_id)
            return False, [CancelResponse(response_id)]
        self._active.add(response_id)
        # It began before the service had our last item, so it is no answer to that.
        waits_for = self._unacknowledged[1] if self._unacknowledged is not None else ""
        early = waits_for in self._acknowledged_kinds
        of_its_own = self._asked is None or early
        doomed = self._asked_doomed or (self._unwelcome and of_its_own)
        if self._unwelcome and of_its_own:
            self._unwelcome = False
        elif not early:
            if self._asked is not None and self._asked.line:
                self._lines.put(response_id, None)
            self._running, self._asked, self._asked_doomed = self._asked, None, False
        if self._blocked:
            self._blocked = False
            self._wanted = self._wanted if early or doomed else None
        return (False, self._doom(response_id)) if doomed else (True, [])

    def finished(self, response_id: str) -> list[Effect]:
        """A response ended."""
        self._active.discard(response_id)
        self._doomed.discard(response_id)
        self._note_end(response_id)
        self._blocked = False
        return self._send()

    def cancel(self, unanswered: bool = False) -> list[Effect]:
        """Everything that runs or was asked for is to end; what is wanted is stale by its generation.

        With `unanswered` the service was about to answer by itself, and that answer is unwelcome, too.
        """
        self._unwelcome = self._unwelcome or unanswered
        self._asked_doomed = self._asked is not None
        effects = [one for running in sorted(self._active - self._doomed) for one in self._doom(running)]
        return [*effects, *self._watch_cancel()] if self.busy and not effects else effects

    def welcome(self) -> None:
        """The caller says something new: what the service answers now is an answer to that."""
        self._unwelcome = False

    def cancel_one(self, response_id: str) -> list[Effect]:
        """This response has said enough; the wish for the next one stays."""
        if response_id not in self._active or response_id in self._doomed:
            return []
        return self._doom(response_id)

    def waited_long_enough(self) -> list[Effect]:
        """A service may never confirm a cancel: after a bounded wait the cancelled ones count as ended."""
        self._cancelling = False
        for response_id in self._doomed:
            self._note_end(response_id)
        self._active -= self._doomed
        self._doomed.clear()
        if self._asked_doomed:
            self._asked, self._asked_doomed, self._unwelcome = None, False, True
        self._blocked = False
        return self._send()

    def refused(self, event_id: str, code: str) -> tuple[bool, list[Effect]]:
        """The service complains: whether our request for a response failed by that, and what follows.

        A request that came too early waits for the end of what runs, and is sent once more.
        """
        asked, doomed = self._asked, self._asked_doomed
        # One that names no event may be about a response that the service tried by itself. Where an answer is
        # to be cancelled on arrival, that is not given up on a guess.
        guessed = not event_id and code in TOO_EARLY and not doomed
        if asked is None or not (guessed or event_id == asked.event_id):
            # It may be our last item that the service does not want, and then it never acknowledges it.
            self._unacknowledged = self._unacknowledged if code in BENIGN else None
            return False, []
        self._asked, self._asked_doomed = None, False
        if doomed or code not in TOO_EARLY:
            return not doomed, self._send()
        self._blocked = not self._active
        return False, self._want(asked, self._wish)

    @property
    def _wish(self) -> CreateResponse | None:
        """What is wanted next, unless the caller has gone on since."""
        return self._wanted if self._generation.may_ask(self._wanted_in) else None

    def _want(self, first: CreateResponse | None, second: CreateResponse | None) -> list[Effect]:
        self._wanted, self._wanted_in = _merged(first, second), self._generation.number
        return self._send()

    def _note_end(self, response_id: str) -> None:
        # A service that gives no ids uses the same none again.
        if response_id:
            self._over.put(response_id, None)

    def _doom(self, response_id: str) -> list[Effect]:
        self._doomed.add(response_id)
        return [CancelResponse(response_id), *self._watch_cancel()]

    def _watch_cancel(self) -> list[Effect]:
        self._cancelling = True
        return [SetTimer(CANCEL_TIMER, CANCEL_WAIT)]

    def _send(self) -> list[Effect]:
        effects: list[Effect] = []
        if self._cancelling and not self.busy:
            self._cancelling = False
            effects.append(ClearTimer(CANCEL_TIMER))
        if self._wish is None or self.busy or self._absent:
            return effects
        self._asked, self._wanted = replace(self._wish, event_id=self._new_event_id()), None
        return [*effects, self._asked]


def _merged(first: CreateResponse | None, second: CreateResponse | None) -> CreateResponse:
    known = [wish for wish in (first, second) if wish is not None]
    wishes = [wish for wish in known if not wish.line] or known
    if wishes and wishes[-1].line:
        return wishes[-1]
    options = {key: value for wish in wishes for key, value in wish.options.items()}
    return CreateResponse(options, any(wish.last for wish in wishes))
