"""Each outside service, reached once with a question that changes nothing there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from django.conf import settings

from conversations.doctor.asking import SECONDS, Answer, ask, since
from conversations.doctor.findings import FAILED, OK, SKIPPED, WARNING, Finding
from conversations.realtime import wire
from conversations.realtime.connection import SpeechUnavailable, dial

# No caller's: a login that knows it knows everybody.
NOBODY = "+00000000000"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models"
MOST_SKEW = 60.0
_JSON = {"Accept": "application/json, text/event-stream"}
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "vocero-doctor", "version": "1"},
    },
}


async def speech() -> Finding:
    """A session is opened and its first event read: the address, the key and the model are good."""
    name, vocero, began = "speech service", settings.VOCERO, time.monotonic()
    if not vocero.speech_url:
        return Finding(name, SKIPPED, "S2S_SPEECH_URL is not set")
    try:
        async with asyncio.timeout(SECONDS):
            connection = await dial(vocero.speech_url, vocero.speech_api_key, vocero.speech_model)
            try:
                first = await connection.receive()
            finally:
                await connection.close()
    except (SpeechUnavailable, TimeoutError) as error:
        why = str(error) or "no answer in time"
        mend = "Is it running at S2S_SPEECH_URL, and is S2S_SPEECH_API_KEY the right one?"
        return Finding(name, FAILED, f"no session ({why})", mend, since(began))
    if wire.kind(first) != "session.created":
        mend = "Look at S2S_SPEECH_API_KEY, S2S_SPEECH_MODEL and the service's own log."
        return Finding(name, FAILED, f"its first event is {wire.kind(first)[:40]}", mend, since(began))
    return Finding(name, OK, "a session was opened", ms=since(began))


async def login() -> Finding:
    """A number that nobody has: being told no shows that the login is there and reads what it is sent."""
    name, url = "backend login", settings.VOCERO.backend_login_url
    if not url:
        return Finding(name, SKIPPED, "S2S_BACKEND_LOGIN_URL is not set")
    answer = await ask("POST", url, {"Accept": "application/json"}, {"phone": NOBODY})
    if answer.status in (400, 401, 403, 404, 409, 410, 422):
        if answer.status == 404:
            said = "says 404 to an unknown number, as it would to a wrong path"
            mend = "If callers cannot log in, look at the path of S2S_BACKEND_LOGIN_URL."
            return Finding(name, WARNING, said, mend, answer.ms)
        return Finding(name, OK, f"says no to an unknown number ({answer.status})", ms=answer.ms)
    if answer.status in (200, 201):
        mend = "Look at the backend: every phone number may be logging in."
        return Finding(name, WARNING, f"logged {NOBODY} in", mend, answer.ms)
    return _unexpected(name, answer, "S2S_BACKEND_LOGIN_URL")


async def portal() -> Finding:
    """Asked without a credential: that it wants one shows that it is there."""
    name, url = "AquaPortal (MCP)", settings.VOCERO.mcp_url
    if not url:
        return Finding(name, SKIPPED, "S2S_MCP_URL is not set")
    answer = await ask("POST", url, _JSON, _INITIALIZE)
    if answer.status in (401, 403):
        return Finding(name, OK, f"there, and asks who is calling ({answer.status})", ms=answer.ms)
    if answer.status == 200:
        mend = "Let it refuse whoever sends no session token."
        return Finding(name, WARNING, "answers without a credential", mend, answer.ms)
    return _unexpected(name, answer, "S2S_MCP_URL")


async def bridge() -> Finding:
    """Its list of tools, with the service's own credential where there is one."""
    name, pilot = "ApiPilot bridge", settings.VOCERO.apipilot
    if not pilot.tools_url or settings.VOCERO.mcp_url:
        return Finding(name, SKIPPED, "not in use")
    headers = {"Authorization": f"Bearer {pilot.token}"} if pilot.token else {}
    answer = await ask("GET", pilot.tools_url, headers)
    if answer.status == 200:
        return Finding(name, OK, "lists its tools", ms=answer.ms)
    if answer.status in (401, 403) and not pilot.token:
        return Finding(name, OK, f"there, and asks who is calling ({answer.status})", ms=answer.ms)
    if answer.status in (401, 403):
        return Finding(name, FAILED, f"refuses S2S_APIPILOT_TOKEN ({answer.status})", "Renew it.", answer.ms)
    return _unexpected(name, answer, "S2S_APIPILOT_TOOLS_URL")


async def model() -> Finding:
    """The models that the key may use."""
    name, reasoning = "reasoning model", settings.VOCERO.reasoning
    if reasoning.base_url:
        url, key = f"{reasoning.base_url.rstrip('/')}/models", "S2S_LLM_API_KEY"
        headers = {"Authorization": f"Bearer {reasoning.api_key}"} if reasoning.api_key else {}
    elif reasoning.gemini_key:
        url, headers, key = GEMINI, {"x-goog-api-key": reasoning.gemini_key}, "GEMINI_API_KEY"
    else:
        return Finding(name, SKIPPED, "none is configured")
    answer = await ask("GET", url, headers)
    if answer.status == 200:
        return Finding(name, OK, "lists its models", ms=answer.ms)
    if answer.status in (400, 401, 403):
        return Finding(name, FAILED, f"refuses the key ({answer.status})", f"Look at {key}.", answer.ms)
    if answer.status in (404, 405):
        return Finding(name, OK, "there; it lists no models", ms=answer.ms)
    return _unexpected(name, answer, "S2S_LLM_BASE_URL")


async def search(charged: bool) -> Finding:
    """Asked only where that is wished: each search is paid for."""
    name, vocero = "web search", settings.VOCERO
    if not vocero.web_search:
        return Finding(name, SKIPPED, "S2S_SERPER_API_KEY is not set")
    if not charged:
        return Finding(name, SKIPPED, "not asked, since it is paid for; --search asks it once")
    headers = {"X-API-KEY": vocero.serper_api_key}
    answer = await ask("POST", vocero.serper_url, headers, {"q": "fish farm", "num": 1})
    if answer.status == 200:
        return Finding(name, OK, "finds something", ms=answer.ms)
    if answer.status in (401, 403):
        mend = "Look at S2S_SERPER_API_KEY."
        return Finding(name, FAILED, f"refuses the key ({answer.status})", mend, answer.ms)
    return _unexpected(name, answer, "S2S_SERPER_URL")


async def collector() -> Finding:
    """Any answer shows that a collector is there: it is sent no span."""
    name, url = "span collector", settings.VOCERO.otlp_endpoint
    if not url:
        return Finding(name, SKIPPED, "OTEL_EXPORTER_OTLP_ENDPOINT is not set")
    headers = {"Content-Type": "application/x-protobuf"}
    answer = await ask("POST", f"{url.rstrip('/')}/v1/traces", headers)
    if answer.status and answer.status not in (404, 405):
        return Finding(name, OK, f"answers ({answer.status})", ms=answer.ms)
    return _unexpected(name, answer, "OTEL_EXPORTER_OTLP_ENDPOINT")


async def clock() -> Finding:
    """Links, secrets and leases are times: this machine's clock beside that of a service."""
    vocero = settings.VOCERO
    for url in (vocero.backend_login_url, vocero.mcp_url, vocero.reasoning.base_url):
        answer = await ask("HEAD", url) if url else Answer(0, 0)
        if answer.skew is None:
            continue
        said = f"{abs(answer.skew):.0f} s {'behind' if answer.skew > 0 else 'ahead of'} a service's"
        if abs(answer.skew) > MOST_SKEW:
            return Finding("clock", WARNING, said, "Let the machine's clock be set over NTP.", answer.ms)
        return Finding("clock", OK, "agrees with a service's", ms=answer.ms)
    return Finding("clock", SKIPPED, "no service tells its time")


def _unexpected(name: str, answer: Answer, setting: str) -> Finding:
    if not answer.status:
        mend = f"Is it running at {setting}, and does this machine reach it?"
        return Finding(name, FAILED, f"cannot be reached ({answer.why})", mend, answer.ms)
    mends: Mapping[int, str] = {
        3: f"Set {setting} to the address that it leads to: redirects are not followed.",
        4: f"Look at the path of {setting}.",
        5: "Look at the service's own log.",
    }
    mend = mends.get(answer.status // 100, f"Look at {setting}.")
    return Finding(name, FAILED, f"answers {answer.status}", mend, answer.ms)
