"""A brain's own tools and screen in a call for which the speech service's model thinks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import structlog
from django.conf import settings
from django.utils import timezone

from conversations import toolbox
from conversations.bootstrap import Plan
from conversations.brains import host
from conversations.brains.host import NOBODY
from conversations.brains.rtvi import RTVIMessage, RTVIType
from conversations.brains.tooled import ToolBrain
from conversations.core.events import ConfirmAnswered
from conversations.realtime.allowed import ClientMessage, as_message
from tools.catalog import Offer, Unkept, discover, joined
from tools.sources.inprocess import DeclarationRefused, InProcessSource

log = structlog.get_logger(__name__)

Show = Callable[[Mapping[str, Any]], object]


class Beside:
    """The brain of one call, as far as its tools go; `show` takes what is for the page, without waiting."""

    def __init__(self, plan: Plan, brain: ToolBrain, show: Show) -> None:
        self._caller = toolbox.caller_of(plan) or NOBODY
        self._brain, self._show = brain, show
        self._nonces: set[str] = set()
        self._session = host.host_of(plan).session
        self._session.show_on(self._shown)

    @property
    def finish_tools(self) -> Collection[str]:
        return self._brain.finish_tools

    async def joined(self, offer: Offer) -> Offer:
        """The brain's tools, then those of the conversation; none of its own where one cannot be a tool."""
        try:
            own = InProcessSource(self._brain.tools)
        except DeclarationRefused as refused:
            log.error("brain: tools refused", reason=str(refused))
            return offer
        return joined(await discover([own], self._caller, None, Unkept(), timezone.now()), offer)

    def takes(self, message: ClientMessage | ConfirmAnswered) -> bool:
        """Gives the brain a message of the app's; False for one that is the call's, or one too many."""
        if isinstance(message, ConfirmAnswered):
            if message.nonce not in self._nonces:
                return False
            message = as_message(message)
        data = {"t": message.kind, "d": message.data}
        told = RTVIMessage(RTVIType.CLIENT_MESSAGE, message.message_id, data)
        return self._session.receive(self._brain, told)

    def leave(self) -> None:
        """The call is over."""
        self._session.hide_from(self._shown)

    def _shown(self, event: Mapping[str, Any]) -> None:
        """An action of the brain's; a sheet that it opens is its own to decide."""
        data = event.get("data") or {}
        if data.get("command") == "open_confirm":
            self._nonces.add(str(data["payload"].get("nonce")))
        self._show(event)


def of(plan: Plan, show: Show) -> Beside | None:
    """What the integrator's brain adds to this call; None where there is none, or it thinks itself."""
    reasoning = settings.VOCERO.reasoning
    if not reasoning.brain or reasoning.as_llm:
        return None
    brain = host.host_of(plan).brain
    return Beside(plan, brain, show) if isinstance(brain, ToolBrain) else None


def finish_tools(beside: Beside | None) -> frozenset[str]:
    """The names that the brain wants to run on when the caller goes on."""
    return frozenset() if beside is None else frozenset(beside.finish_tools)
