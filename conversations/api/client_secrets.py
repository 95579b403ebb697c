"""Server to server: an integrator opens a conversation for a client of its own."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Router

from conversations import entry, lifecycle, record
from conversations.api.auth import Integrator
from conversations.api.conversations import base_url
from conversations.api.schemas import ClientSecretIn, ClientSecretOut, ProblemOut
from conversations.entry import Order

router = Router(tags=["client secrets"])


@router.post(
    "/client_secrets",
    auth=Integrator(),
    response={200: ClientSecretOut, frozenset({400, 401, 410, 413, 415, 429, 502, 503}): ProblemOut},
    summary="Open a conversation and a secret that is good for it alone",
)
async def create(request: HttpRequest, body: ClientSecretIn, response: HttpResponse) -> dict[str, object]:
    named = body.browser_tools
    order = Order(
        key_id=request.auth.pk,  # type: ignore[attr-defined]
        lifetime=body.lifetime or lifecycle.SECRET_LIFE,
        link=body.link or "",
        phone=body.phone or "",
        browser_tools=None if named is None else tuple(named),
        session=body.session or {},
    )
    granted = await entry.grant(order)
    response["Cache-Control"] = "no-store"
    summary = await sync_to_async(record.summary)(granted.conversation, base_url(request))
    return {
        "value": granted.secret,
        "expires_at": int(granted.expires_at.timestamp()),
        "conversation": summary,
    }
