"""`/metrics` for Prometheus: what this process counted and what it has now, for those who may read it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from datetime import datetime
from hmac import compare_digest

import structlog
from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from conversations import cleanups, journal
from conversations.identity import rates
from conversations.metrics import METER
from conversations.realtime import calls

log = structlog.get_logger(__name__)

# What a proxy leaves: without S2S_TRUSTED_PROXIES the peer is then not who asks.
_FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_X_FORWARDED_HOST", "HTTP_VIA")


class Present(Collector):
    """What is looked up when somebody asks."""

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily(
            "vocero_conversations_live", "Calls that this process has, held ones too.", calls.count()
        )
        yield GaugeMetricFamily(
            "vocero_journal_backlog", "Records that wait for the database.", journal.backlog()
        )
        success = _last_success()
        if success is not None:
            about = "When a cleanup, of whichever process, last did all it had to."
            yield GaugeMetricFamily(
                "vocero_retention_last_success_timestamp_seconds", about, success.timestamp()
            )


# Apart from what is counted: this asks the database.
_present = CollectorRegistry()
_present.register(Present())


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Everything as text; 401 or 403 with a sentence for anybody else."""
    token = settings.VOCERO.metrics_token
    if not may_read(request, token):
        return _refused(bool(token))
    text = generate_latest(METER.registry) + generate_latest(_present)
    return HttpResponse(text, content_type=CONTENT_TYPE_PLAIN_0_0_4)


def may_read(request: HttpRequest, token: str) -> bool:
    """With a token only its bearer; without one only who asks from this machine itself."""
    if token:
        kind, _, shown = request.headers.get("Authorization", "").partition(" ")
        return kind.lower() == "bearer" and compare_digest(shown.strip().encode(), token.encode())
    hops = settings.VOCERO.trusted_proxies
    if not hops and any(name in request.META for name in _FORWARDED):
        return False
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR")
    address = rates.address_of(forwarded, request.META.get("REMOTE_ADDR") or "", hops)
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _last_success() -> datetime | None:
    """None where none ever succeeded, and while the database is away: the rest is told all the same."""
    try:
        return cleanups.last_success()
    except Error as error:
        log.warning("metrics.retention_unknown", error=type(error).__name__)
        return None


def _refused(has_token: bool) -> HttpResponse:
    if has_token:
        words = "Send S2S_METRICS_TOKEN as a bearer.\n"
        return HttpResponse(words, "text/plain", 401, headers={"WWW-Authenticate": "Bearer"})
    words = (
        "Only this machine itself may read the metrics. Set S2S_METRICS_TOKEN to read them from elsewhere.\n"
    )
    return HttpResponse(words, "text/plain", 403)
