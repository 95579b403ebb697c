"""Errors as RFC 9457 problems: a stable code, a sentence, a request id; no traces, no foreign words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse

from conversations.metrics import METER

MEDIA_TYPE = "application/problem+json"

STATUSES = {
    "invalid": 400,
    "unauthorized": 401,
    "login_rejected": 401,
    "login_required": 401,
    "csrf_failed": 403,
    "forbidden": 403,
    "unsafe_phone_disabled": 403,
    "not_found": 404,
    "apipilot_disabled": 404,
    "method_not_allowed": 405,
    "link_expired": 410,
    "link_used": 410,
    "too_large": 413,
    "unsupported_media_type": 415,
    "rate_limited": 429,
    "internal": 500,
    "unavailable": 503,
    "backend_contract": 502,
    "backend_unavailable": 503,
    "web_search_disabled": 404,
    "conversation_closed": 409,
    "reasoning_disabled": 404,
    "turn_in_progress": 409,
    "no_turn": 409,
    "search_contract": 502,
    "search_unavailable": 503,
}
# For answers that Django or a middleware gave without us.
_CODES = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
}
_DETAILS = {
    "invalid": "The request cannot be read.",
    "unauthorized": "Show a valid binding cookie or credential.",
    "forbidden": "This is not allowed.",
    "not_found": "There is nothing here for you.",
    "apipilot_disabled": "This deployment has no ApiPilot bridge.",
    "method_not_allowed": "This address does not know that method.",
    "too_large": "The body is too large.",
    "unsupported_media_type": "Send the body as application/json.",
    "csrf_failed": "The CSRF token is missing or wrong. Reload the page.",
    "web_search_disabled": "Web search is not configured here.",
    "conversation_closed": "This needs an open conversation. Start one first.",
    "reasoning_disabled": "This deployment has no brain: nothing here answers typed questions.",
    "turn_in_progress": "Another turn of this conversation is still running.",
    "no_turn": "No turn of this conversation is waiting for messages.",
    "search_contract": "The search service answered in a form that cannot be used.",
    "search_unavailable": "The search service cannot be reached at the moment.",
    "unavailable": "This service is not complete at the moment. Try again in a moment.",
    "internal": "Something went wrong here. It has been noted under this request id.",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One field of a body that is wrong; `pointer` is a JSON pointer."""

    pointer: str
    code: str
    detail: str


class Problem(Exception):
    """Ends a request with one of the known codes."""

    def __init__(
        self, code: str, detail: str = "", retry_after: int | None = None, errors: Sequence[Fault] = ()
    ) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail or _DETAILS[code]
        self.retry_after = retry_after
        self.errors = tuple(errors)


def answer(request: HttpRequest, problem: Problem, status: int | None = None) -> HttpResponse:
    """The response that tells a problem."""
    METER.refused(problem.code)
    status = status or STATUSES[problem.code]
    content = body(problem, status, request_id(request))
    response = JsonResponse(content, status=status, content_type=MEDIA_TYPE)
    response["Cache-Control"] = "no-store"
    if problem.retry_after is not None:
        response["Retry-After"] = str(problem.retry_after)
    if status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def body(problem: Problem, status: int, request_id: str) -> dict[str, object]:
    """A problem as RFC 9457 writes it."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": problem.detail,
        "code": problem.code,
        "request_id": request_id,
        "errors": [asdict(fault) for fault in problem.errors],
    }


def for_status(status: int) -> Problem:
    """The problem behind a bare status of 400 or more."""
    return Problem(_CODES.get(status, "internal" if status >= 500 else "invalid"))


def request_id(request: HttpRequest) -> str:
    """The id under which this request is logged."""
    return str(getattr(request, "request_id", ""))
