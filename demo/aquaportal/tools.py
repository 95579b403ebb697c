"""The eight tools by name: arguments are validated against the declared schema, then answered."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import jsonschema_rs

from demo.aquaportal.access import Refusal
from demo.aquaportal.answers import insights, metrics, podcasts, reports
from demo.aquaportal.answers.question import Answer, Question
from demo.aquaportal.data.records import Caller
from demo.aquaportal.schemas import TOOLS

ANSWERS: Mapping[str, Callable[[Question], Answer]] = {
    "list_reports": reports.list_reports,
    "get_report": reports.get_report,
    "list_insights": insights.list_insights,
    "get_metric_history": metrics.get_metric_history,
    "list_podcasts": podcasts.list_podcasts,
    "get_podcast": podcasts.get_podcast,
    "read_podcast_transcript": podcasts.read_podcast_transcript,
    "get_my_briefing": insights.get_my_briefing,
}
VALIDATORS = {tool["name"]: jsonschema_rs.validator_for(tool["inputSchema"]) for tool in TOOLS}


def answer(name: str, arguments: Mapping[str, Any], caller: Caller, today: date) -> Answer:
    """What the tool answers this caller on this day; Refusal says why not, KeyError means no such tool."""
    for error in VALIDATORS[name].iter_errors(dict(arguments)):
        where = ".".join(str(part) for part in error.instance_path) or "arguments"
        raise Refusal(f"Invalid arguments: {where}: {error.message}")
    return ANSWERS[name](Question(caller, today, arguments.get("request", {})))
