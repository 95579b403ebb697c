"""Every setting, read once from the environment, typed, refusing nonsense with the setting's name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ

from vocero.reading import Reader, checked_key, checked_token, refusal
from vocero.services import ApiPilot, Reasoning

EIGHT_TOOLS = (
    "list_reports",
    "get_report",
    "list_insights",
    "get_metric_history",
    "list_podcasts",
    "get_podcast",
    "read_podcast_transcript",
    "get_my_briefing",
)
SELECTIONS = ("auto", "native", "marker")
WEB = ("http", "https")
WEB_SEARCH = "web_search"
SERPER = "https://google.serper.dev/search"
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


@dataclass(frozen=True, slots=True)
class Vocero:
    """Vocero's own settings. Times are seconds, sizes are characters unless the name says otherwise.

    `speech_session_max` is in minutes. `misspelled` are names that are no setting, with the nearest that is.
    """

    public_url: str
    allowed_origins: tuple[str, ...]
    embed_origins: tuple[str, ...]
    trusted_proxies: int
    speech_url: str
    speech_api_key: str
    speech_model: str
    speech_session_max: float
    reconnect_grace: float
    backend_login_url: str
    mcp_url: str
    apipilot: ApiPilot
    reasoning: Reasoning
    allow_private_addresses: bool
    inject_profile: bool
    profile_url: str
    serper_api_key: str
    serper_url: str
    token_keys: tuple[str, ...]
    conversation_ttl: int
    conversation_idle: int
    tool_selection: str
    mcp_tools: tuple[str, ...]
    browser_tools: tuple[str, ...]
    finish_tools: tuple[str, ...]
    thinks_first: bool
    confirm_tools: tuple[str, ...]
    confirm_timeout: int
    tool_labels: Mapping[str, Mapping[str, str]]
    tool_questions: Mapping[str, Mapping[str, str]]
    max_tool_calls: int
    tool_timeout: float
    result_chars: int
    turn_result_chars: int
    history_turns: int
    silence_limit: float
    slow_tool_line: float
    spoken_apology: bool
    catalog_ttl: int
    catalog_pinned: bool
    unsafe_phone_selector: bool
    rate_bootstrap: int
    rate_secrets: int
    rate_search: int
    rate_sockets: int
    rate_apipilot: int
    rate_reasoning: int
    max_conversations: int
    retention_transcripts: int
    retention_payloads: int
    retention_rows: int
    retention_max_rows: int
    demo: bool
    demo_badge: str
    metrics_token: str = field(repr=False)
    otlp_endpoint: str = ""
    misspelled: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def mode(self) -> str:
        """`mcp` when AquaPortal is configured, else `apipilot` with its bridge, else `plain`."""
        if self.mcp_url:
            return "mcp"
        return "apipilot" if self.apipilot.tools_url else "plain"

    @property
    def web_search(self) -> bool:
        """Whether callers' browsers may search the web here."""
        return bool(self.serper_api_key)


@dataclass(frozen=True, slots=True)
class Django:
    """The settings that Django itself knows, under the names its ecosystem uses."""

    secret_key: str
    debug: bool
    allowed_hosts: tuple[str, ...]
    csrf_trusted_origins: tuple[str, ...]
    database: dict[str, Any]
    redis_url: str
    log_level: str


def environment(folder: Path) -> dict[str, str]:
    """The process's environment over the file that ENV_FILE names, by default the project's `.env`.

    Raises ImproperlyConfigured where a file is named that is not there.
    """
    values = dict(os.environ)
    file = folder / values.get("ENV_FILE", ".env")
    if values.get("ENV_FILE") and not file.is_file():
        raise refusal("ENV_FILE", "there is no such file")
    if file.is_file():
        environ.Env.read_env(str(file), overwrite=False)
        values = {**os.environ}
    return values


def read_django(environment: Mapping[str, str]) -> Django:
    """Raises ImproperlyConfigured, naming the setting."""
    read = Reader(environment)
    debug = read.flag("DEBUG")
    secret = read.text("SECRET_KEY")
    if not secret and not debug:
        raise refusal("SECRET_KEY", "set it to a long random text, or DEBUG=true on your own machine")
    return Django(
        secret_key=secret or "only-for-debug-on-your-own-machine-" + "0" * 32,
        debug=debug,
        allowed_hosts=read.names("ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]")),
        csrf_trusted_origins=read.origins("CSRF_TRUSTED_ORIGINS", wild=True),
        database=read.database("DATABASE_URL"),
        redis_url=read.url("REDIS_URL", ("redis", "rediss", "unix")),
        log_level=read.one_of("LOG_LEVEL", LOG_LEVELS, "INFO"),
    )


def read_vocero(environment: Mapping[str, str]) -> Vocero:
    """Raises ImproperlyConfigured, naming the setting."""
    read = Reader(environment)
    values = {**_services(read), **_calls(read), **_limits(read)}
    return Vocero(**values, misspelled=read.unasked())


def _services(read: Reader) -> dict[str, Any]:
    """The services around, and who may come."""
    return {
        "public_url": read.origin("S2S_PUBLIC_URL"),
        "allowed_origins": read.origins("S2S_ALLOWED_ORIGINS"),
        "embed_origins": read.origins("S2S_EMBED_ORIGINS"),
        "trusted_proxies": read.whole("S2S_TRUSTED_PROXIES", 0, 0, 16),
        "speech_url": read.url("S2S_SPEECH_URL", ("ws", "wss")),
        "speech_api_key": read.text("S2S_SPEECH_API_KEY"),
        "speech_model": read.text("S2S_SPEECH_MODEL"),
        "speech_session_max": read.number("S2S_SPEECH_SESSION_MAX", 55, 0, 1_440),
        "reconnect_grace": read.number("S2S_RECONNECT_GRACE", 30, 0, 600),
        "backend_login_url": read.url("S2S_BACKEND_LOGIN_URL", WEB),
        "mcp_url": read.url("S2S_MCP_URL", WEB),
        "apipilot": _apipilot(read),
        "reasoning": _reasoning(read),
        "allow_private_addresses": read.flag("S2S_ALLOW_PRIVATE_ADDRESSES"),
        "inject_profile": read.flag("S2S_INJECT_PROFILE"),
        "profile_url": read.url("S2S_PROFILE_URL", WEB),
        "serper_api_key": read.text("S2S_SERPER_API_KEY"),
        "serper_url": _search_address(read.url("S2S_SERPER_URL", WEB)),
        "token_keys": tuple(checked_key("S2S_TOKEN_KEYS", key) for key in read.names("S2S_TOKEN_KEYS")),
    }


def _apipilot(read: Reader) -> ApiPilot:
    return ApiPilot(
        tools_url=read.url("S2S_APIPILOT_TOOLS_URL", WEB),
        execute_url=read.template("S2S_APIPILOT_TOOLS_EXECUTE_URL", WEB),
        ttl=read.whole("S2S_APIPILOT_TTL_SEC", 300, 0, 86_400),
        token=checked_token("S2S_APIPILOT_TOKEN", read.text("S2S_APIPILOT_TOKEN")),
    )


def _reasoning(read: Reader) -> Reasoning:
    brain = read.text("S2S_BRAIN")
    if brain and not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", brain):
        raise refusal("S2S_BRAIN", "write the dotted path of what makes a brain, like shop.brains.ShopBrain")
    speech = read.one_of("S2S_TOOL_SELECTION", SELECTIONS, "auto")
    return Reasoning(
        brain=brain,
        as_llm=read.flag("S2S_BRAIN_AS_LLM"),
        service_keys=read.names("S2S_SERVICE_KEYS"),
        base_url=read.url("S2S_LLM_BASE_URL", WEB),
        api_key=read.text("S2S_LLM_API_KEY"),
        model=read.text("S2S_LLM_MODEL"),
        gemini_key=read.text("GEMINI_API_KEY"),
        marker=read.one_of("S2S_LLM_TOOL_SELECTION", SELECTIONS, speech) == "marker",
    )


def _search_address(url: str) -> str:
    """Serper's own, or the one that is set, with Serper's path where it has none."""
    if not url:
        return SERPER
    return f"{url.rstrip('/')}/search" if urlsplit(url).path in ("", "/") else url


def _calls(read: Reader) -> dict[str, Any]:
    """What a conversation and its turns may do."""
    searching = (WEB_SEARCH,) if read.text("S2S_SERPER_API_KEY") else ()
    return {
        "conversation_ttl": read.whole("S2S_CONVERSATION_TTL", 3600, 60, 86_400),
        "conversation_idle": read.whole("S2S_CONVERSATION_IDLE", 900, 30, 86_400),
        "tool_selection": read.one_of("S2S_TOOL_SELECTION", SELECTIONS, "auto"),
        "mcp_tools": read.names("S2S_MCP_TOOLS", EIGHT_TOOLS),
        "browser_tools": read.names("S2S_BROWSER_TOOLS", searching),
        "finish_tools": read.names("S2S_FINISH_TOOLS"),
        "thinks_first": read.flag("S2S_THINKS_FIRST"),
        "confirm_tools": read.names("S2S_CONFIRM_TOOLS"),
        "confirm_timeout": read.whole("S2S_CONFIRM_TIMEOUT", 90, 5, 600),
        "tool_labels": read.labels("S2S_TOOL_LABELS"),
        "tool_questions": read.labels("S2S_TOOL_QUESTIONS"),
        "max_tool_calls": read.whole("S2S_MAX_TOOL_CALLS", 6, 1, 50),
        "tool_timeout": read.number("S2S_TOOL_TIMEOUT", 30, 1, 600),
        "result_chars": read.whole("S2S_RESULT_CHARS", 64_000, 2_000, 1_000_000),
        "turn_result_chars": read.whole("S2S_TURN_RESULT_CHARS", 96_000, 2_000, 4_000_000),
        "history_turns": read.whole("S2S_HISTORY_TURNS", 12, 0, 200),
        "silence_limit": read.number("S2S_SILENCE_LIMIT", 20, 2, 600),
        "slow_tool_line": read.number("S2S_SLOW_TOOL_LINE", 4, 0, 600),
        "spoken_apology": read.flag("S2S_SPOKEN_APOLOGY", True),
        "catalog_ttl": read.whole("S2S_CATALOG_TTL", 300, 0, 86_400),
        "catalog_pinned": read.flag("S2S_CATALOG_PINNED"),
    }


def _limits(read: Reader) -> dict[str, Any]:
    """Limits, retention and the demo."""
    return {
        "unsafe_phone_selector": read.flag("S2S_UNSAFE_PHONE_SELECTOR"),
        "rate_bootstrap": read.whole("S2S_RATE_BOOTSTRAP", 30),
        "rate_secrets": read.whole("S2S_RATE_SECRETS", 120),
        "rate_search": read.whole("S2S_RATE_SEARCH", 30),
        "rate_sockets": read.whole("S2S_RATE_SOCKETS", 60),
        "rate_apipilot": read.whole("S2S_RATE_APIPILOT", 60),
        "rate_reasoning": read.whole("S2S_RATE_REASONING", 60),
        "max_conversations": read.whole("S2S_MAX_CONVERSATIONS", 200),
        "retention_transcripts": read.whole("S2S_RETENTION_TRANSCRIPTS", 30, 0, 36_500),
        "retention_payloads": read.whole("S2S_RETENTION_PAYLOADS", 30, 0, 36_500),
        "retention_rows": read.whole("S2S_RETENTION_ROWS", 365, 0, 36_500),
        "retention_max_rows": read.whole("S2S_RETENTION_MAX_ROWS", 0, 0, 1_000_000_000),
        "demo": read.flag("S2S_DEMO"),
        "otlp_endpoint": read.url("OTEL_EXPORTER_OTLP_ENDPOINT", WEB),
        "metrics_token": checked_token("S2S_METRICS_TOKEN", read.text("S2S_METRICS_TOKEN")),
        "demo_badge": read.text("S2S_DEMO_BADGE", "Local speech"),
    }
