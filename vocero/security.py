"""Security headers that depend on the path."""

from __future__ import annotations

from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from vocero.policy import ADMIN

FRAMED = frozenset({"/", "/embed/frame"})


class ContentSecurityPolicy(CSPMiddleware):
    """Strict everywhere, wider under `/admin/` only; the caller's page may be framed where that is set."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if request.path_info.startswith("/admin/"):
            parts.replace = {**ADMIN, **(parts.replace or {})}
        elif request.path_info in FRAMED and settings.VOCERO.embed_origins:
            framing = {"frame-ancestors": list(settings.VOCERO.embed_origins)}
            parts.replace = {**framing, **(parts.replace or {})}
        return parts
