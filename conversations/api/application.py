"""The one NinjaAPI: its parser, its error handling, its routers."""

from __future__ import annotations

import json
from typing import Any

import structlog
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.parser import Parser

from conversations.api import (
    apipilot,
    client_secrets,
    completions,
    configuration,
    conversations,
    problems,
    ratings,
    reasoning,
    search,
    suggestions,
)
from conversations.api.problems import Fault, Problem
from conversations.identity.refusal import Refused

log = structlog.get_logger(__name__)

_MOST_FAULTS = 20
_LONGEST_POINTER = 200
_DATABASE_RETRY = 5


class StrictJson(Parser):
    """A body is a JSON object, sent as JSON: a form of another site cannot pretend to be one."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        if request.content_type != "application/json":
            raise Problem("unsupported_media_type")
        body = json.loads(request.body, parse_constant=_refuse)
        if not isinstance(body, dict):
            raise Problem("invalid", "Send a JSON object.")
        return body


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


api = NinjaAPI(
    title="Vocero",
    version="1",
    description="Conversations with a voice assistant that acts on the caller's behalf.",
    urls_namespace="api",
    openapi_url="/api/openapi.json",
    docs_url=None,
    parser=StrictJson(),
)
api.add_router("/api", configuration.router)
api.add_router("/api", conversations.router)
api.add_router("/api", ratings.router)
api.add_router("/api", suggestions.router)
api.add_router("/api/apipilot", apipilot.router)
api.add_router("/api", search.router)
api.add_router("/api", reasoning.router)
api.add_router("/v1/realtime", client_secrets.router)
api.add_router("/v1", completions.router)


@api.exception_handler(Problem)
def tell_problem(request: HttpRequest, error: Problem) -> HttpResponse:
    return problems.answer(request, error)


@api.exception_handler(Refused)
def tell_refusal(request: HttpRequest, error: Refused) -> HttpResponse:
    # The page shows the beginning of the request's id as a reference: this line is what it leads to.
    log.info("request.refused", code=error.code, detail=error.detail)
    return problems.answer(request, Problem(error.code, error.detail, error.retry_after))


@api.exception_handler(ValidationError)
def tell_faults(request: HttpRequest, error: ValidationError) -> HttpResponse:
    faults = [_fault(entry) for entry in error.errors[:_MOST_FAULTS]]
    return problems.answer(request, Problem("invalid", "Some fields cannot be used.", errors=faults))


@api.exception_handler(AuthenticationError)
def tell_stranger(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return problems.answer(request, Problem("unauthorized"))


@api.exception_handler(HttpError)
def tell_unreadable(request: HttpRequest, error: HttpError) -> HttpResponse:
    """Ninja wraps what goes wrong while a body is parsed, our own problems included."""
    cause = error.__cause__
    problem = cause if isinstance(cause, Problem) else problems.for_status(error.status_code)
    return problems.answer(request, problem)


@api.exception_handler(RequestDataTooBig)
def tell_too_large(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return problems.answer(request, Problem("too_large"))


@api.exception_handler(SuspiciousOperation)
def tell_suspicious(request: HttpRequest, error: SuspiciousOperation) -> HttpResponse:
    return problems.answer(request, Problem("invalid"))


@api.exception_handler(Http404)
def tell_missing(request: HttpRequest, error: Http404) -> HttpResponse:
    return problems.answer(request, Problem("not_found"))


@api.exception_handler(OperationalError)
@api.exception_handler(InterfaceError)
def tell_absence(request: HttpRequest, error: Exception) -> HttpResponse:
    log.error("request.database", path=request.path_info, exc_info=error)
    return problems.answer(request, Problem("unavailable", retry_after=_DATABASE_RETRY))


@api.exception_handler(Exception)
def tell_bug(request: HttpRequest, error: Exception) -> HttpResponse:
    log.error("request.failed", path=request.path_info, exc_info=error)
    return problems.answer(request, Problem("internal"))


def _fault(entry: dict[str, Any]) -> Fault:
    """Ninja's location begins with the place and, for a body, the parameter's name."""
    place, *path = entry["loc"]
    inside = path[1:] if place == "body" else path
    pointer = "".join(f"/{_escaped(part)}" for part in inside)[:_LONGEST_POINTER]
    return Fault(pointer, str(entry["type"]), str(entry["msg"]))


def _escaped(part: object) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")
