"""Logging: structured lines, and a filter through which no credential passes."""

from __future__ import annotations

import logging
import logging.config
import re
from collections.abc import Mapping, MutableMapping
from typing import Any

import structlog

_SECRET_SHAPES = re.compile(
    r"(?i)(bearer\s+|openai-insecure-api-key\.|sessiontoken\W{1,4}|api[_-]?key\W{1,4})[\w.~+/=-]{6,}|\b(?:ek|vk)_[\w-]{8,}"
    r"|(?<=[?&])(?:link|phone)=[^&\s\"']+"
)
HIDDEN = "[hidden]"
_SECRET_FIELDS = frozenset(
    {"authorization", "token", "session_token", "api_key", "secret", "cookie", "phone", "password"}
)


def redacted(text: str) -> str:
    """The text without anything that looks like a credential."""
    return _SECRET_SHAPES.sub(HIDDEN, text)


def redact_event(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """A structlog processor: hides secret fields by name and secret shapes in every text."""
    for key, value in event.items():
        if key.lower() in _SECRET_FIELDS:
            event[key] = HIDDEN
        elif isinstance(value, str):
            event[key] = redacted(value)
    return event


def calm_event(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """A structlog processor: what a request got wrong, such as its Host, is no fault with a traceback."""
    if str(event.get("logger", "")).startswith("django.security."):
        event.pop("exc_info", None)
        event["level"] = "warning"
    return event


_SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def logging_config(level: str) -> dict[str, Any]:
    """The dictConfig of the process: every record, third-party ones too, ends in one redacted JSON line."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": [*_SHARED, calm_event],
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    redact_event,
                    structlog.processors.JSONRenderer(),
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
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
            "django.server": {"level": "INFO"},
            # Its own handlers would write lines of another form, with the link in the address of a request.
            "uvicorn": {"handlers": [], "propagate": True},
            "uvicorn.access": {"handlers": [], "propagate": False},
            "django.db.backends": {"level": "INFO"},
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
