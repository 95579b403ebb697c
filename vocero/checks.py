"""System checks: settings that contradict each other, and choices that deserve a second look."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.http.request import split_domain_port, validate_host

from vocero.env import EIGHT_TOOLS, SERPER, WEB_SEARCH


@register("vocero")
def configuration(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """What cannot work, and what will surprise, on any machine."""
    return [*_errors(), *_warnings(), *_unused(), *_search(), *_host()]


@register(Tags.security, deploy=True)
def deployment(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """What is fine on one's own machine and is not in front of strangers."""
    return [*_exposed(), *_readable_on_the_way()]


def _errors() -> Iterator[CheckMessage]:
    vocero = settings.VOCERO
    if vocero.mcp_url and not vocero.backend_login_url:
        yield Error(
            "S2S_MCP_URL is set, but no caller can log in.",
            hint="Set S2S_BACKEND_LOGIN_URL, or unset S2S_MCP_URL for a plain voice relay.",
            id="vocero.E001",
        )
    if bool(vocero.apipilot.tools_url) != bool(vocero.apipilot.execute_url):
        yield Error(
            "Of S2S_APIPILOT_TOOLS_URL and S2S_APIPILOT_TOOLS_EXECUTE_URL only one is set.",
            hint="Set both, or none of them.",
            id="vocero.E003",
        )
    if vocero.turn_result_chars < vocero.result_chars:
        yield Error(
            "S2S_TURN_RESULT_CHARS is smaller than S2S_RESULT_CHARS: one full result would not fit a turn.",
            hint="Raise the first or lower the second.",
            id="vocero.E002",
        )


def _warnings() -> Iterator[CheckMessage]:
    vocero = settings.VOCERO
    if not vocero.speech_url:
        yield checks.Warning(
            "S2S_SPEECH_URL is not set: nobody can talk.",
            hint="Point it at a realtime speech service, like wss://speech.example/v1/realtime.",
            id="vocero.W001",
        )
    if not vocero.token_keys and not vocero.demo:
        yield checks.Warning(
            "Callers' credentials are encrypted with a key derived from SECRET_KEY.",
            hint="Set S2S_TOKEN_KEYS, so that SECRET_KEY can change without logging every caller out.",
            id="vocero.W002",
        )
    added = sorted(set(vocero.mcp_tools) - set(EIGHT_TOOLS))
    if added:
        yield checks.Warning(
            f"S2S_MCP_TOOLS also lets callers use: {', '.join(added)}.",
            hint="Keep to the eight AquaPortal tools unless you reviewed these.",
            id="vocero.W003",
        )
    unknown = sorted(set(vocero.confirm_tools) - set(vocero.mcp_tools))
    # Where there is a brain, its own check knows the names of its tools as well.
    if unknown and vocero.mode == "mcp" and not vocero.reasoning.brain:
        yield checks.Warning(
            f"S2S_CONFIRM_TOOLS names what is not in S2S_MCP_TOOLS: {', '.join(unknown)}.",
            hint="Write the tools' exact names: one that is misspelled runs without the caller's tap.",
            id="vocero.W006",
        )
    if vocero.conversation_idle > vocero.conversation_ttl:
        yield checks.Warning(
            "S2S_CONVERSATION_IDLE is longer than S2S_CONVERSATION_TTL and has no effect.",
            hint="Lower it, or raise S2S_CONVERSATION_TTL.",
            id="vocero.W004",
        )


def _unused() -> Iterator[CheckMessage]:
    """Settings that do nothing beside others, or because their name is none."""
    vocero = settings.VOCERO
    for name, near in vocero.misspelled.items():
        yield checks.Warning(
            f"{name} is set and is no setting of Vocero: nothing reads it.",
            hint=f"Did you mean {near}?" if near else ".env.example lists all settings.",
            id="vocero.W023",
        )
    if vocero.inject_profile and vocero.mode == "mcp":
        yield checks.Warning(
            "S2S_INJECT_PROFILE is on and is ignored: with S2S_MCP_URL nothing of a caller is preloaded.",
            hint="Turn it off; the model asks its tools for what it needs.",
            id="vocero.W020",
        )
    elif vocero.inject_profile and not vocero.profile_url:
        yield checks.Warning(
            "S2S_INJECT_PROFILE is on, but S2S_PROFILE_URL is not set: there is no profile to add.",
            hint="Set S2S_PROFILE_URL, or turn S2S_INJECT_PROFILE off.",
            id="vocero.W021",
        )
    if vocero.mcp_url and vocero.apipilot.tools_url:
        yield checks.Warning(
            "The ApiPilot settings are ignored, because S2S_MCP_URL is set.",
            hint="Unset S2S_MCP_URL to use the bridge, or the others to be clear.",
            id="vocero.W022",
        )


def _search() -> Iterator[CheckMessage]:
    vocero = settings.VOCERO
    if not vocero.web_search and vocero.serper_url != SERPER:
        yield checks.Warning(
            "S2S_SERPER_URL is set without a key: nobody can search the web.",
            hint="Set S2S_SERPER_API_KEY, or unset S2S_SERPER_URL.",
            id="vocero.W007",
        )
    if vocero.web_search and WEB_SEARCH not in vocero.browser_tools:
        yield checks.Warning(
            "S2S_SERPER_API_KEY is set, but S2S_BROWSER_TOOLS leaves web_search out: no model will search.",
            hint="Add web_search to S2S_BROWSER_TOOLS, or unset the key.",
            id="vocero.W008",
        )


def _host() -> Iterator[CheckMessage]:
    host = urlsplit(settings.VOCERO.public_url).netloc
    name, _ = split_domain_port(host)
    if host and not settings.DEBUG and not validate_host(name, settings.ALLOWED_HOSTS):
        yield checks.Warning(
            "The host of S2S_PUBLIC_URL is not in ALLOWED_HOSTS: whoever opens that address is answered 400.",
            hint="Add it to ALLOWED_HOSTS.",
            id="vocero.W005",
        )


def _exposed() -> Iterator[CheckMessage]:
    vocero = settings.VOCERO
    if vocero.unsafe_phone_selector:
        yield checks.Warning(
            "S2S_UNSAFE_PHONE_SELECTOR is on: whoever knows a phone number is that caller.",
            hint="Turn it off and give callers signed links (manage.py phonelink).",
            id="vocero.W010",
        )
    if vocero.demo:
        yield checks.Warning(
            "S2S_DEMO is on: the page offers the demo's callers.",
            hint="Turn it off in front of real callers.",
            id="vocero.W011",
        )
    if vocero.allow_private_addresses:
        yield checks.Warning(
            "S2S_ALLOW_PRIVATE_ADDRESSES is on: a service's name may begin to lead into this network.",
            hint="Turn it off unless a service changes between public and private addresses.",
            id="vocero.W014",
        )
    if not vocero.public_url.startswith("https://"):
        yield checks.Warning(
            "S2S_PUBLIC_URL is no https address: cookies are not secure and browsers give no microphone.",
            hint="Set S2S_PUBLIC_URL to the address that callers open.",
            id="vocero.W012",
        )


def _readable_on_the_way() -> Iterator[CheckMessage]:
    """Credentials and voices that leave this machine unencrypted."""
    vocero = settings.VOCERO
    addresses = {
        "S2S_SPEECH_URL": vocero.speech_url,
        "S2S_BACKEND_LOGIN_URL": vocero.backend_login_url,
        "S2S_MCP_URL": vocero.mcp_url,
        "S2S_APIPILOT_TOOLS_URL": vocero.apipilot.tools_url,
        "S2S_APIPILOT_TOOLS_EXECUTE_URL": vocero.apipilot.execute_url,
        "S2S_PROFILE_URL": vocero.profile_url,
        "S2S_SERPER_URL": vocero.serper_url if vocero.web_search else "",
    }
    for name, address in addresses.items():
        parts = urlsplit(address)
        if parts.scheme in ("http", "ws") and not _is_loopback(parts.hostname or ""):
            yield checks.Warning(
                f"{name} is not encrypted and leaves this machine.",
                hint="Use https or wss, or keep that network private.",
                id="vocero.W013",
            )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
