"""System checks of a deployment as a whole: what is contradictory in front of strangers, or sees too much."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register

from vocero import telemetry

SHORT = 20


@register("vocero")
def whole(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """What cannot work, or has no effect, on any machine."""
    return [*_spans(), *_kept()]


@register(Tags.security, deploy=True)
def production(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """What is fine on one's own machine and is not behind a proxy, or in front of strangers."""
    return [*_proxy(), *_processes(), *_origins(), *_secrets(), *_log()]


def _spans() -> Iterator[CheckMessage]:
    if settings.VOCERO.otlp_endpoint and not telemetry.is_installed():
        message, _, hint = telemetry.MISSING.partition(". ")
        yield Error(f"{message}.", hint=hint, id="vocero.E005")


def _kept() -> Iterator[CheckMessage]:
    vocero = settings.VOCERO
    for name, days in (
        ("S2S_RETENTION_TRANSCRIPTS", vocero.retention_transcripts),
        ("S2S_RETENTION_PAYLOADS", vocero.retention_payloads),
    ):
        if days > vocero.retention_rows:
            yield checks.Warning(
                f"{name} is longer than S2S_RETENTION_ROWS and has no effect: the rows go first.",
                hint="Lower it, or raise S2S_RETENTION_ROWS.",
                id="vocero.W040",
            )


def _proxy() -> Iterator[CheckMessage]:
    vocero = settings.VOCERO
    if vocero.public_url.startswith("https://") and not vocero.trusted_proxies:
        yield checks.Warning(
            "S2S_PUBLIC_URL is https, but S2S_TRUSTED_PROXIES is 0: all callers come from the proxy's "
            "address, so that one of them uses up everybody's limits.",
            hint="Set S2S_TRUSTED_PROXIES to how many proxies stand in front; 0 only where there is none.",
            id="vocero.W041",
        )
    if "*" in settings.ALLOWED_HOSTS:
        yield checks.Warning(
            "ALLOWED_HOSTS is *: a page of any name that leads here may open sockets as its own.",
            hint="List the names that this server answers to.",
            id="vocero.W042",
        )


def _processes() -> Iterator[CheckMessage]:
    engine = str(settings.DATABASES["default"]["ENGINE"])
    if settings.REDIS_URL and engine.endswith("sqlite3"):
        yield checks.Warning(
            "REDIS_URL is set, as for several processes, but the database is SQLite, which is for one.",
            hint="Set DATABASE_URL to PostgreSQL, or unset REDIS_URL.",
            id="vocero.W043",
        )


def _origins() -> Iterator[CheckMessage]:
    plain = [origin for origin in settings.VOCERO.allowed_origins if _is_plain(origin)]
    if plain:
        yield checks.Warning(
            f"S2S_ALLOWED_ORIGINS lets in pages that come unencrypted: {', '.join(plain)}.",
            hint="List their https origins: whoever sits on the way can change such a page.",
            id="vocero.W044",
        )


def _is_plain(origin: str) -> bool:
    parts = urlsplit(origin)
    return parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1")


def _secrets() -> Iterator[CheckMessage]:
    vocero = settings.VOCERO
    held = {"S2S_METRICS_TOKEN": (vocero.metrics_token,), "S2S_SERVICE_KEYS": vocero.reasoning.service_keys}
    for name, values in held.items():
        if any(value and len(value) < SHORT for value in values):
            yield checks.Warning(
                f"{name} holds one that is shorter than {SHORT} characters: it can be guessed.",
                hint='python -c "import secrets; print(secrets.token_urlsafe(32))" makes a good one.',
                id="vocero.W045",
            )


def _log() -> Iterator[CheckMessage]:
    if settings.LOG_LEVEL == "DEBUG":
        yield checks.Warning(
            "LOG_LEVEL is DEBUG: each call writes many lines.",
            hint="Set it to INFO; nothing that an operator needs is below that.",
            id="vocero.W046",
        )
