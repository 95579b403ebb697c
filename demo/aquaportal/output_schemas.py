"""What each tool answers, as JSON Schema; every answer has `speech` beside its data."""

from typing import Any

Schema = dict[str, Any]

SPEECH: Schema = {"type": "string", "description": "The answer in plain words, ready to be read aloud."}
NEXT_OFFSET: Schema = {
    "type": "integer",
    "minimum": 1,
    "description": "Pass as offset to get the next page; absent on the last page.",
}
TOTAL: Schema = {"type": "integer", "minimum": 0}
STRING: Schema = {"type": "string"}
DATE: Schema = {"type": "string", "format": "date"}
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}

REPORT_SUMMARY: Schema = {
    "type": "object",
    "required": ["report_id", "title", "center", "kind", "date", "summary"],
    "properties": {
        "report_id": STRING,
        "title": STRING,
        "center": STRING,
        "kind": {"enum": ["daily", "weekly", "health", "harvest"]},
        "date": DATE,
        "summary": STRING,
    },
}
REPORT: Schema = {
    "type": "object",
    "required": ["kind", "report"],
    "properties": {
        "kind": {"const": "report"},
        "report": {
            "allOf": [
                {"$ref": "#/$defs/ReportSummary"},
                {
                    "required": ["author", "findings", "recommendation"],
                    "properties": {
                        "author": STRING,
                        "findings": {"type": "array", "items": STRING},
                        "recommendation": STRING,
                    },
                },
            ]
        },
    },
}
AMBIGUOUS: Schema = {
    "type": "object",
    "required": ["kind", "candidates"],
    "properties": {
        "kind": {"const": "ambiguous"},
        "candidates": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/ReportSummary"}},
    },
}
INSIGHT: Schema = {
    "type": "object",
    "required": ["insight_id", "center", "cage_number", "metric", "severity", "date", "text"],
    "properties": {
        "insight_id": STRING,
        "center": STRING,
        "cage_number": INTEGER,
        "metric": STRING,
        "severity": {"enum": ["info", "warning", "critical"]},
        "date": DATE,
        "text": STRING,
    },
}
READING: Schema = {
    "type": "object",
    "required": ["date", "value"],
    "properties": {"date": DATE, "value": NUMBER},
}
SERIES: Schema = {
    "type": "object",
    "required": ["center", "cage_number", "latest", "minimum", "maximum", "average", "trend", "points"],
    "properties": {
        "center": STRING,
        "cage_number": INTEGER,
        "latest": READING,
        "minimum": NUMBER,
        "maximum": NUMBER,
        "average": NUMBER,
        "trend": {"enum": ["rising", "falling", "steady"]},
        "points": {"type": "array", "items": READING, "description": "One reading a day, oldest first."},
    },
}
EPISODE: Schema = {
    "type": "object",
    "required": ["episode_id", "number", "title", "date", "minutes", "summary"],
    "properties": {
        "episode_id": STRING,
        "number": INTEGER,
        "title": STRING,
        "date": DATE,
        "minutes": INTEGER,
        "summary": STRING,
    },
}
PODCAST_SUMMARY: Schema = {
    "type": "object",
    "required": ["podcast_id", "title", "description", "episode_count", "latest_episode"],
    "properties": {
        "podcast_id": STRING,
        "title": STRING,
        "description": STRING,
        "episode_count": INTEGER,
        "latest_episode": {"$ref": "#/$defs/Episode"},
    },
}


def answer(properties: Schema, optional: tuple[str, ...] = (), defs: Schema | None = None) -> Schema:
    """The schema of one tool's answer: `speech` and these properties, all required but `optional`."""
    schema: Schema = {
        "type": "object",
        "required": ["speech", *(name for name in properties if name not in optional)],
        "properties": {"speech": SPEECH, **properties},
    }
    return schema | ({"$defs": defs} if defs else {})


def page(name: str, item: Schema, defs: Schema | None = None) -> Schema:
    """The schema of one page of a list whose items stand under `name`."""
    properties: Schema = {
        name: {"type": "array", "items": item},
        "total": TOTAL,
        "limit": INTEGER,
        "offset": INTEGER,
        "next_offset": NEXT_OFFSET,
    }
    return answer(properties, optional=("next_offset",), defs=defs)


LIST_REPORTS = page("reports", REPORT_SUMMARY)
GET_REPORT = answer({"result": {"oneOf": [REPORT, AMBIGUOUS]}}, defs={"ReportSummary": REPORT_SUMMARY})
LIST_INSIGHTS = page("insights", INSIGHT)
GET_METRIC_HISTORY = answer(
    {"metric": STRING, "unit": STRING, "days": INTEGER, "series": {"type": "array", "items": SERIES}}
)
LIST_PODCASTS = page("podcasts", PODCAST_SUMMARY, defs={"Episode": EPISODE})
GET_PODCAST = answer(
    {
        "podcast_id": STRING,
        "title": STRING,
        "description": STRING,
        "episodes": {"type": "array", "items": EPISODE},
    }
)
READ_PODCAST_TRANSCRIPT = answer(
    {
        "podcast_title": STRING,
        "episode": EPISODE,
        "paragraphs": {"type": "array", "items": STRING},
        "total": TOTAL,
        "limit": INTEGER,
        "offset": INTEGER,
        "next_offset": NEXT_OFFSET,
    },
    optional=("next_offset",),
)
GET_MY_BRIEFING = answer(
    {
        "date": DATE,
        "centers": {"type": "array", "items": STRING},
        "insights": {"type": "array", "items": INSIGHT},
        "reports": {"type": "array", "items": REPORT_SUMMARY},
    }
)
