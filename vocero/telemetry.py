"""Where spans are sent: an OTLP endpoint over HTTP, through a provider that is nobody else's."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured
from opentelemetry.trace import Tracer

from vocero import VERSION

MISSING = (
    "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry's SDK is not installed. "
    "Run `pip install -r requirements-otel.txt`, or unset it."
)


def is_installed() -> bool:
    """Whether spans can be sent."""
    try:
        # Nothing of it is loaded where nobody collects.
        import opentelemetry.exporter.otlp.proto.http  # noqa: PLC0415
        import opentelemetry.sdk.trace  # noqa: PLC0415
    except ImportError:
        return False
    return bool(opentelemetry.exporter.otlp.proto.http)


def tracer(endpoint: str) -> Tracer | None:
    """What makes spans and sends them to the endpoint in batches; None without one.

    Raises ImproperlyConfigured where the packages are missing. The SDK reads its own variables, such as
    OTEL_EXPORTER_OTLP_HEADERS and OTEL_TRACES_SAMPLER.
    """
    if not endpoint:
        return None
    if not is_installed():
        raise ImproperlyConfigured(MISSING)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    provider = TracerProvider(
        resource=Resource.create({"service.name": "vocero", "service.version": VERSION})
    )
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider.get_tracer("vocero", VERSION)
