"""What a person reads where there is nothing, nothing for them, or something broke, in their language."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.cache import patch_vary_headers

from conversations.api import problems

_OPERATORS = "/admin/"


def missing(request: HttpRequest, exception: Exception) -> HttpResponse:
    """For 404."""
    return plain(request, 404, "404.html")


def refused(request: HttpRequest, exception: Exception) -> HttpResponse:
    """For 403: only operators' pages ask who somebody is."""
    return plain(request, 403, "403.html")


def unrecognised(request: HttpRequest, reason: str = "") -> HttpResponse:
    """For a form whose CSRF token is missing or wrong; the reason is for the log, which has it already."""
    return plain(request, 403, "403_csrf.html")


def broken(request: HttpRequest) -> HttpResponse:
    """For 500."""
    return plain(request, 500, "500.html")


def plain(request: HttpRequest, status: int, template: str) -> HttpResponse:
    """The page, made without what may just have failed: no database, no session."""
    with translation.override(translation.get_language_from_request(request)):
        context = {
            "operators": request.path_info.startswith(_OPERATORS),
            "ref": problems.request_id(request)[:8],
        }
        answer = HttpResponse(render_to_string(template, context), status=status)
        answer["Content-Language"] = translation.get_language()
    answer["Cache-Control"] = "no-store"
    patch_vary_headers(answer, ["Accept-Language"])
    return answer
