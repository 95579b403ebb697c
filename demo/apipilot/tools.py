"""The bridge's tools: flat parameters, two of them for everybody, the others for who is logged in."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import jsonschema_rs

from demo.aquaportal.access import Refusal
from demo.aquaportal.answers import insights, metrics, podcasts, reports
from demo.aquaportal.answers.question import Answer, Question
from demo.aquaportal.data.farm import CENTERS
from demo.aquaportal.data.records import Caller
from demo.aquaportal.schemas import TOOLS as NESTED
from demo.aquaportal.schemas import Schema

NOBODY = Caller(phone="", user_id="", name="nobody", centers=())
SEA = {
    "north center": "wind from the northwest at twelve knots and waves of one point two meters",
    "south center": "a light breeze and waves of half a meter",
    "east center": "wind from the east at eight knots and waves of nearly one meter",
}
CENTER: Schema = {"type": "string", "enum": sorted(SEA), "description": "A fish farm center, by its name."}


def list_centers(_question: Question) -> Answer:
    """The centers of the company, which are no secret."""
    names = [center.name for center in CENTERS]
    return {"speech": f"The centers are: {', '.join(names)}.", "centers": [{"title": name} for name in names]}


def sea_forecast(question: Question) -> Answer:
    """The sea at one center, or at all."""
    wanted = [question.request["center"]] if "center" in question.request else sorted(SEA)
    said = " ".join(f"At the {name}: {SEA[name]}." for name in wanted)
    return {
        "speech": said,
        "forecast": [{"title": f"Sea forecast, {name}", "text": SEA[name]} for name in wanted],
    }


ANSWERS: Mapping[str, Callable[[Question], Answer]] = {
    "list_centers": list_centers,
    "get_sea_forecast": sea_forecast,
    "list_reports": reports.list_reports,
    "get_report": reports.get_report,
    "list_insights": insights.list_insights,
    "get_metric_history": metrics.get_metric_history,
    "list_podcasts": podcasts.list_podcasts,
    "get_my_briefing": insights.get_my_briefing,
}


def declared(name: str, description: str, parameters: Schema, requires_auth: bool = False) -> Schema:
    """One tool as the bridge lists it."""
    return {
        "name": name,
        "description": description,
        "parameters": parameters,
        "requires_auth": requires_auth,
    }


def flat(tool: Schema) -> Schema:
    """A tool of the portal as the bridge has it: the members of its `request` are the parameters."""
    schema = tool["inputSchema"]
    request = {"additionalProperties": False, **schema["properties"]["request"]}
    return declared(
        tool["name"], tool["description"], request | {"$defs": schema["$defs"]}, requires_auth=True
    )


TOOLS: tuple[Schema, ...] = (
    declared(
        "list_centers",
        "List the centers: the fish farm centers of the company, by name.",
        {"type": "object", "properties": {}},
    ),
    declared(
        "get_sea_forecast",
        "Get the sea forecast (wind and waves) for the waters of a center.",
        {"type": "object", "properties": {"center": CENTER}, "additionalProperties": False},
    ),
    *(flat(tool) for tool in NESTED if tool["name"] in ANSWERS),
)
BY_NAME = {tool["name"]: tool for tool in TOOLS}
VALIDATORS = {name: jsonschema_rs.validator_for(tool["parameters"]) for name, tool in BY_NAME.items()}


def answer(name: str, arguments: Mapping[str, Any], caller: Caller | None, today: date) -> Answer:
    """What the tool answers; Refusal says why not, KeyError means no such tool."""
    for error in VALIDATORS[name].iter_errors(dict(arguments)):
        where = ".".join(str(part) for part in error.instance_path) or "arguments"
        raise Refusal(f"Invalid arguments: {where}: {error.message}")
    return ANSWERS[name](Question(caller or NOBODY, today, arguments))
