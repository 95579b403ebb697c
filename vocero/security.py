"""Security headers that depend on the path."""

from __future__ import annotations

from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest, HttpResponseBase

from vocero.policy import ADMIN


class ContentSecurityPolicy(CSPMiddleware):
    """Strict everywhere, wider under `/admin/` only."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if request.path_info.startswith("/admin/"):
            parts.replace = {**ADMIN, **(parts.replace or {})}
        return parts
