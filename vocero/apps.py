"""The project as a Django application: it brings the system checks, and hides its secrets from the log."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings

from vocero.hiding import LIVE


class VoceroConfig(AppConfig):
    name = "vocero"
    verbose_name = "Vocero"

    def ready(self) -> None:
        # Importing registers them; the settings they read are not there any earlier.
        from vocero import checks, production  # noqa: F401, PLC0415

        for secret in configured_secrets(settings):
            LIVE.keep(secret)


def configured_secrets(configured: Any) -> Iterator[str]:
    """Every secret that the settings hold; some of them may be empty."""
    vocero, reasoning = configured.VOCERO, configured.VOCERO.reasoning
    yield from (configured.SECRET_KEY, vocero.speech_api_key, vocero.serper_api_key, vocero.metrics_token)
    yield from (vocero.apipilot.token, reasoning.api_key, reasoning.gemini_key)
    yield from (*vocero.token_keys, *reasoning.service_keys)
    yield str(configured.DATABASES["default"].get("PASSWORD") or "")
    yield urlsplit(configured.REDIS_URL).password or ""
