"""What every request carries: an id in log lines and answer; on the API, problems instead of error pages."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable

import structlog
from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from conversations.api import problems

HEADER = "X-Request-ID"
API_PATHS = ("/api/", "/v1/")

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class Envelope:
    """The outermost middleware, so that nothing inside answers the API with an HTML page."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self.is_async:
            return self._answer_async(request)
        with structlog.contextvars.bound_contextvars(request_id=_identify(request)):
            response = self.get_response(request)
        assert isinstance(response, HttpResponseBase)  # noqa: S101  (the sync half of the signature)
        return _enclosed(request, response)

    async def _answer_async(self, request: HttpRequest) -> HttpResponseBase:
        with structlog.contextvars.bound_contextvars(request_id=_identify(request)):
            response = self.get_response(request)
            assert not isinstance(response, HttpResponseBase)  # noqa: S101  (the async half)
            return _enclosed(request, await response)


def _identify(request: HttpRequest) -> str:
    request.request_id = uuid.uuid4().hex  # type: ignore[attr-defined]
    return problems.request_id(request)


def _enclosed(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    bare = response.headers.get("Content-Type") != problems.MEDIA_TYPE
    if response.status_code >= 400 and bare and request.path_info.startswith(API_PATHS):
        allow = response.headers.get("Allow")
        response = problems.answer(request, problems.for_status(response.status_code), response.status_code)
        if allow:
            response["Allow"] = allow
    response[HEADER] = problems.request_id(request)
    return response
