"""Logging: structured lines, and filters through which no credential and nothing of a caller passes.

The levels of `logging_config` keep libraries quiet; the filters hold whatever levels an operator sets.
"""

from __future__ import annotations

import logging
import logging.config
import re
import traceback
from collections.abc import Mapping, MutableMapping
from pathlib import PurePath
from types import TracebackType
from typing import Any

import structlog

from vocero.hiding import HIDDEN, LIVE

_SECRET_SHAPES = re.compile(
    r"(?i)(bearer\s+|openai-insecure-api-key\.|sessiontoken\W{1,4}|api[_-]?key\W{1,4})[\w.~+/=-]{6,}|\b(?:ek|vk)_[\w-]{8,}"
    r"|(?<=[?&])(?:link|phone)=[^&\s\"']+"
)
_SECRET_FIELDS = frozenset(
    {"authorization", "token", "session_token", "api_key", "secret", "cookie", "phone", "password"}
)


def redacted(text: str) -> str:
    """The text without anything that looks like a credential."""
    return _SECRET_SHAPES.sub(HIDDEN, text)


def redact_event(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """A structlog processor: hides secret fields by name and secret shapes in every text, however deep."""
    for key, value in event.items():
        event[key] = _redacted_field(key, value)
    return event


def _redacted_field(key: object, value: Any) -> Any:
    if str(key).lower() in _SECRET_FIELDS:
        return HIDDEN
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        return {name: _redacted_field(name, inside) for name, inside in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted_field("", inside) for inside in value]
    plain = value is None or isinstance(value, bool | int | float)
    return value if plain else redacted(str(value))


def cover_line(_logger: Any, _method: str, line: str) -> str:
    """The last structlog processor: no piece of a live credential is in the finished line."""
    return LIVE.without(line)


def placed_error(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """A structlog processor: an error is told by its type and place; its words may hold what was said."""
    told = event.pop("exc_info", None)
    error = told if isinstance(told, BaseException) else told[1] if isinstance(told, tuple) else None
    if error is not None:
        event["exception"] = _placed(error, told[2] if isinstance(told, tuple) else error.__traceback__)
    return event


def _placed(error: BaseException, trace: TracebackType | None) -> str:
    chain = [f"{''.join(traceback.format_tb(trace))}{type(error).__qualname__}"]
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    while cause is not None and len(chain) < _LONGEST_CHAIN:
        chain.append(f"{''.join(traceback.format_tb(cause.__traceback__))}{type(cause).__qualname__}")
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return "Traceback (most recent call last):\n" + "\nfrom\n".join(chain)


def calm_event(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """A structlog processor: what a request got wrong, such as its Host, is no fault with a traceback."""
    if str(event.get("logger", "")).startswith("django.security."):
        event.pop("exc_info", None)
        event["level"] = "warning"
    return event


# Our own; a library's line below INFO may hold anything, and is never written.
OURS = ("vocero", "conversations", "tools", "demo", "bench")
# Through these go frames, headers, rows and bodies: what they say above INFO is told by its place.
CARRIERS = frozenset(
    {"websockets", "picows", "aiofastnet", "h11", "httpx2", "httpcore2", "httpx", "httpcore", "aiohttp"}
    | {"mcp", "fastmcp", "openai", "google", "google_genai", "google_auth", "opentelemetry", "requests"}
    | {
        "starlette",
        "sse_starlette",
        "multipart",
        "python_multipart",
        "twisted",
        "autobahn",
        "txaio",
        "urllib3",
    }
    | {"daphne.ws_protocol", "daphne.http_protocol", "channels", "channels_redis", "redis", "psycopg"}
    | {"django.db", "asyncio", "concurrent", "anyio"}
)
_LONGEST_CHAIN = 6
# By name: it reads settings, which read this.
DOORS = "vocero.doors.NamesTheSetting"


def _family(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts) + 1)}


class Strangers(logging.Filter):
    """Of libraries nothing below INFO passes, of carriers nothing below WARNING."""

    def __init__(self, also_ours: str = "") -> None:
        super().__init__()
        self._ours = frozenset({*OURS, also_ours} - {""})

    def filter(self, record: logging.LogRecord) -> bool:
        family = _family(record.name)
        least = logging.INFO if CARRIERS.isdisjoint(family) else logging.WARNING
        return bool(family & self._ours) or record.levelno >= least


class Lines(structlog.stdlib.ProcessorFormatter):
    """Records as JSON lines; those of carriers without their words."""

    def format(self, record: logging.LogRecord) -> str:
        carries = not CARRIERS.isdisjoint(_family(record.name))
        return super().format(_wordless(record) if carries else record)


def _wordless(record: logging.LogRecord) -> logging.LogRecord:
    """A copy that says where it comes from: with arguments its words are the library's own, else anything."""
    bare = logging.makeLogRecord(record.__dict__)
    words = str(record.msg) if record.args else HIDDEN
    bare.msg = f"{words} ({PurePath(record.pathname).name}:{record.lineno} {record.funcName})"
    bare.args = None
    bare.exc_text = bare.stack_info = None
    return bare


_SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def logging_config(level: str, also_ours: str = "") -> dict[str, Any]:
    """The dictConfig of the process: every record, third-party ones too, ends in one redacted JSON line.

    `also_ours` is the package of a deployment's own code, such as a brain's.
    """
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": Lines,
                "foreign_pre_chain": [*_SHARED, calm_event],
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    placed_error,
                    redact_event,
                    structlog.processors.JSONRenderer(),
                    cover_line,
                ],
            }
        },
        "filters": {"strangers": {"()": Strangers, "also_ours": also_ours}, "doors": {"()": DOORS}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["strangers"]}
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # These write whole frames and headers at DEBUG: audio, arguments and credentials.
            "websockets": {"level": "INFO"},
            "picows": {"level": "CRITICAL"},
            "httpx2": {"level": "WARNING"},
            "httpcore2": {"level": "WARNING"},
            # It quotes a body that it cannot read in the traceback of an ERROR: a tool's result.
            "mcp": {"level": "CRITICAL"},
            "daphne": {"level": "INFO"},
            # Django gives these two handlers of their own, which would write lines of another form.
            "django": {"level": "INFO", "handlers": [], "propagate": True},
            "django.server": {"level": "INFO", "handlers": [], "propagate": True},
            # Its own handlers would write lines of another form, with the link in the address of a request.
            "uvicorn": {"handlers": [], "propagate": True},
            "uvicorn.access": {"handlers": [], "propagate": False},
            "django.db.backends": {"level": "INFO"},
            "django.security.csrf": {"filters": ["doors"]},
            "django.security.DisallowedHost": {"filters": ["doors"]},
            "asyncio": {"level": "INFO"},
        },
    }


def configure(config: dict[str, Any]) -> None:
    """Called by Django with LOGGING."""
    structlog.configure(
        processors=[
            *_SHARED,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    logging.config.dictConfig(config)
    logging.captureWarnings(True)
