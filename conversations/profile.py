"""The caller's profile, preloaded into the instructions where the deployment asks for it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import structlog
from django.conf import settings

from conversations import toolbox
from conversations.bootstrap import Plan
from conversations.models import Conversation
from tools import outgoing
from tools.results import clean

log = structlog.get_logger(__name__)

TIME_LIMIT = 3.0
BODY_LIMIT = 65_536


async def text_for(plan: Plan) -> str:
    """What the backend says of who logged in, without their token; empty where nothing is to be preloaded.

    A profile that cannot be had is missing, and keeps nobody from talking.
    """
    vocero = settings.VOCERO
    wanted = vocero.inject_profile and vocero.profile_url and plan.mode != Conversation.Mode.MCP
    if not wanted or plan.caller is None:
        return ""
    try:
        async with asyncio.timeout(TIME_LIMIT):
            status, kind, body = await _asked(vocero.profile_url, plan.caller.token)
    except (httpx2.HTTPError, outgoing.TooLarge, TimeoutError) as error:
        log.warning("profile.unreachable", error=type(error).__name__)
        return ""
    text = _text(kind, body) if status == httpx2.codes.OK else ""
    if not text:
        log.warning("profile.unusable", status=status)
    return clean(text, plan.caller.token)


async def _asked(url: str, token: str) -> tuple[int, str, bytes]:
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/plain",
        "Accept-Encoding": "identity",
    }
    client = outgoing.client(toolbox.connect())
    async with client, client.stream("GET", url, headers=headers) as response:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        return response.status_code, kind, await outgoing.body(response, BODY_LIMIT)


def _text(kind: str, body: bytes) -> str:
    """Plain text as it is; of JSON the text itself, or the member `profile` of an object."""
    try:
        if kind == "text/plain":
            return body.decode().strip()
        said: Any = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    said = said.get("profile") if isinstance(said, dict) else said
    return said.strip() if isinstance(said, str) else ""
