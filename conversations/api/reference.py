"""`/api/docs`: every route on one page of ours, made from the description that `/api/openapi.json` gives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from ninja import NinjaAPI

from conversations.api import problems

Schema = Mapping[str, Any]

_WHO = {
    "ClientSecret": ("a client secret", "-H 'Authorization: Bearer ek_…'"),
    "Browser": ("the binding cookie, with the CSRF token where something changes", ""),
    "Integrator": ("an API key", "-H 'Authorization: Bearer vk_…'"),
    "SpeechService": ("a key of S2S_SERVICE_KEYS", "-H 'Authorization: Bearer <service key>'"),
}
_EXAMPLES = {"string": "…", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
_LONGEST = 90


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a body, or one parameter."""

    name: str
    kind: str
    required: bool
    about: str


@dataclass(frozen=True, slots=True)
class Told:
    """What a status means: the members of its body, or the codes of a problem."""

    status: str
    about: str
    fields: Sequence[Field]
    codes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation, ready to be shown."""

    anchor: str
    method: str
    path: str
    summary: str
    who: Sequence[str]
    parameters: Sequence[Field]
    body: Sequence[Field]
    answers: Sequence[Told]
    curl: str


def page_of(api: NinjaAPI) -> Any:
    """The view of that interface's reference."""

    @require_safe
    def page(request: HttpRequest) -> HttpResponse:
        schema = api.get_openapi_schema()
        about = {"title": schema["info"]["title"], "description": schema["info"]["description"]}
        return render(request, "conversations/reference.html", {**about, "routes": list(routes(schema))})

    return page


def routes(schema: Schema) -> Iterator[Route]:
    """Every operation of a description, in its order."""
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield _route(schema, method.upper(), path, operation)


def _route(schema: Schema, method: str, path: str, operation: Schema) -> Route:
    schemes = [name for entry in operation.get("security", ()) for name in entry]
    body = _body(operation.get("requestBody", {}))
    fields = list(_fields(schema, body))
    parameters = [
        Field(
            one["name"],
            f"{_kind(one['schema'])} in the {one['in']}",
            bool(one.get("required")),
            one.get("description", ""),
        )
        for one in operation.get("parameters", ())
    ]
    return Route(
        anchor=re.sub(r"[^a-z_]+", "-", f"{method}{path}".lower()).strip("-"),
        method=method,
        path=path,
        summary=operation.get("summary", ""),
        who=[_WHO[name][0] for name in schemes if name in _WHO] or ["anybody"],
        parameters=parameters,
        body=fields,
        answers=[_told(schema, str(status), one) for status, one in _in_order(operation)],
        curl=_curl(method, path, schemes, fields),
    )


def _in_order(operation: Schema) -> Sequence[tuple[object, Schema]]:
    return sorted(operation["responses"].items(), key=lambda one: str(one[0]))


def _told(schema: Schema, status: str, answer: Schema) -> Told:
    body = _body(answer)
    if body.get("$ref", "").endswith("/ProblemOut"):
        codes = sorted(code for code, known in problems.STATUSES.items() if str(known) == status)
        return Told(status, "a problem", (), codes)
    return Told(status, answer.get("description", ""), list(_fields(schema, body)), ())


def _body(part: Schema) -> Schema:
    contents = part.get("content") or {}
    first: Schema = next(iter(contents.values()), {})
    found: Schema = first.get("schema", {})
    return found


def _fields(schema: Schema, body: Schema) -> Iterator[Field]:
    known = _known(schema, body)
    required = known.get("required", ())
    for name, one in known.get("properties", {}).items():
        yield Field(name, _kind(one), name in required, one.get("description", ""))


def _known(schema: Schema, part: Schema) -> Schema:
    name = part.get("$ref", "").rpartition("/")[2]
    found: Schema = schema["components"]["schemas"].get(name, part)
    return found


def _kind(part: Schema) -> str:
    if "$ref" in part:
        return str(part["$ref"]).rpartition("/")[2]
    if "anyOf" in part:
        return " or ".join(_kind(one) for one in part["anyOf"])
    if part.get("enum"):
        return " or ".join(str(one) for one in part["enum"])
    if part.get("type") == "array":
        return f"list of {_kind(part.get('items', {}))}"
    return str(part.get("type", "anything"))


def _curl(method: str, path: str, schemes: Sequence[str], fields: Sequence[Field]) -> str:
    """A line for a terminal in which VOCERO is the server's address."""
    parts = ["curl" if method == "GET" else f"curl -X {method}", f'"$VOCERO{path}"']
    headers = next((_WHO[name][1] for name in schemes if name in _WHO and _WHO[name][1]), "")
    if headers:
        parts.append(headers)
    if fields:
        wanted = [one for one in fields if one.required] or fields[:1]
        body = {one.name: _EXAMPLES.get(one.kind.partition(" ")[0], "…") for one in wanted}
        parts += ["-H 'Content-Type: application/json'", f"-d '{json.dumps(body, ensure_ascii=False)}'"]
    line = " ".join(parts)
    return line if len(line) <= _LONGEST else " \\\n  ".join(parts)
