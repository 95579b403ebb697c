"""The browser's socket: frames go straight to the call, everything else to its visit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.http import parse_cookie
from django.utils.translation.trans_real import parse_accept_lang_header

from conversations.identity import binding, rates
from conversations.identity.admission import COOKIE, SECRET, origin_allowed
from conversations.metrics import METER
from conversations.realtime.outbox import never
from conversations.realtime.visit import Knock, Visit
from vocero import doors, frames

LEAVE_LIMIT = 8.0
ACCEPTED = 500
SUBPROTOCOL = "realtime"
SECRET_SUBPROTOCOL = "openai-insecure-api-key."  # noqa: S105  (the prefix that OpenAI's clients use)

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]

_live: set[asyncio.Task[None]] = set()


class RelayConsumer(AsyncWebsocketConsumer):
    """Thin on purpose: a frame is only handed over, since no other message is read while it waits."""

    visit: Visit | None = None
    owner: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """The life of one socket.

        Channels' own loop makes a task for each message, and hops to a thread before it to close old database
        connections: nothing here touches the database, and the hop lets one slow query delay every call.
        Where the server has a shorter way, most frames do not come through here at all.
        """
        self.scope, self.base_send = scope, send
        while True:
            message = await receive()
            match message["type"]:
                case "websocket.receive":
                    if self.visit is not None:
                        self.visit.receive(message.get("text") or "")
                case "websocket.connect":
                    await self.connect()
                case "websocket.disconnect":
                    await self.disconnect(message["code"])
                    return

    async def connect(self) -> None:
        headers = _headers(self.scope)
        secret = _secret(self.scope, headers)
        origin, host = headers.get("origin"), headers.get("host", "")
        if not origin_allowed(origin, host, _secure(self.scope, headers), SECRET if secret else COOKIE):
            METER.refused("socket_origin")
            proto = headers.get("x-forwarded-proto", "")
            doors.refused_socket(doors.Knock(origin or "", host, _secure(self.scope, headers), proto))
            await self.close()
            return
        offered = self.scope.get("subprotocols") or []
        await self.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
        direct = frames.of(self.scope)
        offer = never if direct is None else direct.offer
        self.visit = Visit(self._knock(headers, secret), self._send_text, self._close_code, offer)
        if direct is not None:
            direct.listen(self.visit.receive)
        self.owner = asyncio.create_task(self.visit.run())
        _live.add(self.owner)
        self.owner.add_done_callback(_live.discard)

    async def disconnect(self, code: int) -> None:
        if self.visit is not None and self.owner is not None:
            self.visit.leave(code)
            # A server that stops waits for this, and the call has its rows to close.
            await asyncio.wait({self.owner}, timeout=LEAVE_LIMIT)

    async def _send_text(self, frame: str) -> None:
        await self.base_send({"type": "websocket.send", "text": frame})

    async def _close_code(self, code: int) -> None:
        await self.close(code=code)

    def _knock(self, headers: Mapping[str, str], secret: str | None) -> Knock:
        query = parse_qs(self.scope.get("query_string", b"").decode("latin-1"))
        peer = (self.scope.get("client") or ("", 0))[0]
        hops = settings.VOCERO.trusted_proxies
        return Knock(
            conversation_id=(query.get("conversation") or [None])[0],
            cookie=parse_cookie(headers.get("cookie", "")).get(binding.COOKIE),
            secret=secret,
            address=rates.address_of(headers.get("x-forwarded-for"), peer, hops),
            extras=secret is None or "vocero" in query.get("events", []),
            language=_language(headers.get("accept-language", "")),
        )


def _headers(scope: Mapping[str, Any]) -> dict[str, str]:
    """The headers by name; one that came more than once is joined, so that none hides another."""
    joined: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        between = "; " if name == "cookie" else ", "
        joined[name] = f"{joined[name]}{between}{value}" if name in joined else value
    return joined


def _language(accepted: str) -> str:
    """The language that the client likes best, without its country."""
    wishes = parse_accept_lang_header(accepted[:ACCEPTED])
    return wishes[0][0].partition("-")[0] if wishes else ""


def _secure(scope: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    forwarded = headers.get("x-forwarded-proto") if settings.VOCERO.trusted_proxies else None
    return scope.get("scheme") == "wss" or forwarded == "https"


def _secret(scope: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
    """The client secret, from the header or from the subprotocol that OpenAI's browser clients use."""
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and value:
        return value.strip()
    for offered in scope.get("subprotocols") or []:
        if offered.startswith(SECRET_SUBPROTOCOL):
            return str(offered.removeprefix(SECRET_SUBPROTOCOL))
    return None
