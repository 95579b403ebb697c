"""The control endpoint of tests: `POST /control` changes faults, `GET /control` shows what was asked."""

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse

from demo.aquaportal.faults import Fault, Switches
from demo.aquaportal.portal import Portal

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})
EVERYBODY = "*"


class Order(BaseModel):
    """What a test orders, carried out from top to bottom; a phone may be "*", which means everybody."""

    model_config = ConfigDict(extra="forbid")

    clear: bool = False
    forget: bool = False
    release: bool = False
    add: list[dict[str, Any]] = []
    switch: dict[str, Any] = {}
    expire: str | None = None
    revoke: str | None = None
    announce: bool = False


def shown(portal: Portal) -> dict[str, Any]:
    """The journal, the faults and the switches, for JSON."""
    return {
        "requests": [asdict(entry) for entry in portal.journal.entries],
        "faults": [asdict(fault) for fault in portal.faults.active],
        "switches": asdict(portal.faults.switches),
    }


def carry_out(portal: Portal, order: Order) -> None:
    """Do what was ordered; ValidationError or TypeError for a fault or a switch that does not exist."""
    if order.clear:
        portal.faults.clear()
    if order.forget:
        portal.journal.clear()
    if order.release:
        portal.faults.release()
    for fault in order.add:
        portal.faults.add(**fault)
    portal.faults.switch(**order.switch)
    if order.expire is not None:
        portal.accounts.expire(None if order.expire == EVERYBODY else order.expire)
    if order.revoke is not None:
        portal.accounts.revoke(None if order.revoke == EVERYBODY else order.revoke)
    if order.announce:
        portal.news.announce()


async def answer_control(portal: Portal, request: Request) -> JSONResponse:
    """Answer a test on this machine; to anybody else the endpoint does not exist."""
    if not is_local(request):
        return JSONResponse({"error": "not_found"}, 404)
    if request.method == "POST":
        # A page of another site can send a form, but not JSON, to a program on this machine.
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return JSONResponse({"error": "invalid", "message": "Send application/json."}, 415)
        try:
            carry_out(portal, Order.model_validate_json(await request.body()))
        except (ValidationError, TypeError) as error:
            known = {
                "fault": Fault.__slots__,
                "switch": Switches.__slots__,
                "order": tuple(Order.model_fields),
            }
            return JSONResponse({"error": "invalid", "message": str(error), "known": known}, 400)
    return JSONResponse(shown(portal))


def is_local(request: Request) -> bool:
    """Whether the request comes from this machine and names it."""
    return request.client is not None and {request.client.host, request.url.hostname} <= LOOPBACK
