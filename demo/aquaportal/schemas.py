"""The eight tools as they are declared over MCP: name, description, input and output schema, in wire form."""

from typing import Any

from demo.aquaportal import output_schemas

Schema = dict[str, Any]

CENTER: Schema = {
    "type": "string",
    "enum": ["north center", "south center", "east center"],
    "description": "A fish farm center, by its name.",
}
CAGE_NUMBER: Schema = {
    "type": "integer",
    "minimum": 1,
    "maximum": 8,
    "description": "The number of a cage (pen). Cage numbers are unique across all centers.",
}
METRIC: Schema = {
    "type": "string",
    "enum": ["oxygen", "temperature", "salinity", "mortality", "sea_lice", "biomass", "feed"],
    "description": (
        "What is measured: dissolved oxygen, water temperature, salinity, mortality (dead fish a day), "
        "sea lice per fish, biomass (weight of fish), feed given a day."
    ),
}
REPORT_KIND: Schema = {
    "type": "string",
    "enum": ["daily", "weekly", "health", "harvest"],
    "description": "The kind of report.",
}
SEVERITY: Schema = {
    "type": "string",
    "enum": ["info", "warning", "critical"],
    "description": "How serious an insight is; critical is an alarm.",
}
DATE: Schema = {
    "anyOf": [
        {"type": "string", "format": "date", "pattern": "^\\d{4}-\\d{2}-\\d{2}$"},
        {"type": "string", "enum": ["today", "yesterday"]},
    ],
    "description": "A day: YYYY-MM-DD, today or yesterday.",
}
OFFSET: Schema = {
    "type": "integer",
    "minimum": 0,
    "default": 0,
    "description": "How many items to skip; use next_offset of the page before.",
}
DEFINITIONS: Schema = {
    "Center": CENTER,
    "CageNumber": CAGE_NUMBER,
    "Metric": METRIC,
    "ReportKind": REPORT_KIND,
    "Severity": SEVERITY,
    "Date": DATE,
    "Offset": OFFSET,
}
READ_ONLY: Schema = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}


def reference(name: str) -> Schema:
    """A reference to one of the shared definitions."""
    return {"$ref": f"#/$defs/{name}"}


def limit(default: int, maximum: int) -> Schema:
    """The schema of a page size."""
    text = "How many items to return at most."
    return {"type": "integer", "minimum": 1, "maximum": maximum, "default": default, "description": text}


def text(description: str) -> Schema:
    """The schema of a short text, such as an id or a title."""
    return {"type": "string", "minLength": 1, "maxLength": 200, "description": description}


def request_schema(properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    """An input schema of one nested `request` object, optional itself when nothing in it is required."""
    used = {part["$ref"].rsplit("/", 1)[1] for part in properties.values() if "$ref" in part}
    request: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    schema: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "properties": {"request": request | ({"required": list(required)} if required else {})},
        "$defs": {name: definition for name, definition in DEFINITIONS.items() if name in used},
    }
    return schema | ({"required": ["request"]} if required else {})


def declare(name: str, title: str, description: str, request: Schema, output: Schema) -> Schema:
    """One tool as `tools/list` sends it."""
    return {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": request,
        "outputSchema": output,
        "annotations": READ_ONLY | {"title": title},
    }


TOOLS: tuple[Schema, ...] = (
    declare(
        "list_reports",
        "List reports",
        "List the latest reports of the caller's centers, newest first, one summary each. Can be "
        "narrowed to a center, a kind (daily, weekly, health, harvest) or dates. Paged: pass next_offset "
        "as offset for more.",
        request_schema(
            {
                "center": reference("Center"),
                "kind": reference("ReportKind"),
                "date_from": reference("Date"),
                "date_to": reference("Date"),
                "limit": limit(5, 20),
                "offset": reference("Offset"),
            }
        ),
        output_schemas.LIST_REPORTS,
    ),
    declare(
        "get_report",
        "Read a report",
        "Tell more about one report: its findings, details and recommendation. Name it by report_id, or "
        "by center, kind and date, or ask for the latest. When several reports fit, the result is "
        "ambiguous and lists the candidates: ask the caller which one.",
        request_schema(
            {
                "report_id": text("The id of a report, as list_reports gives it."),
                "center": reference("Center"),
                "kind": reference("ReportKind"),
                "date": reference("Date"),
                "latest": {
                    "type": "boolean",
                    "description": "True for the latest (newest, last) report that fits.",
                },
            }
        ),
        output_schemas.GET_REPORT,
    ),
    declare(
        "list_insights",
        "List insights",
        "List insights, alerts, warnings and problems that AquaPortal found in the caller's cages, "
        "newest first. Can be narrowed to a center, a cage, a metric, a severity or a first day.",
        request_schema(
            {
                "center": reference("Center"),
                "cage_number": reference("CageNumber"),
                "metric": reference("Metric"),
                "severity": reference("Severity"),
                "since": reference("Date"),
                "limit": limit(5, 20),
                "offset": reference("Offset"),
            }
        ),
        output_schemas.LIST_INSIGHTS,
    ),
    declare(
        "get_metric_history",
        "Metric level and history",
        "Get the current level and the history of one metric (oxygen, temperature, salinity, mortality, "
        "sea lice, biomass, feed) in a cage or a center: what it is now, its lowest, highest and average "
        "value, its trend.",
        request_schema(
            {
                "metric": reference("Metric"),
                "cage_number": reference("CageNumber"),
                "center": reference("Center"),
                "days": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 30,
                    "default": 7,
                    "description": "How many days of history, today included.",
                },
            },
            required=("metric",),
        ),
        output_schemas.GET_METRIC_HISTORY,
    ),
    declare(
        "list_podcasts",
        "List podcasts",
        "List my podcasts: the podcasts (shows) that the caller can listen to, with their latest episode.",
        request_schema({"limit": limit(5, 20), "offset": reference("Offset")}),
        output_schemas.LIST_PODCASTS,
    ),
    declare(
        "get_podcast",
        "Get a podcast",
        "Get one podcast (show) and its episodes, by its id or its title. Without either: the podcast "
        "with the newest episode.",
        request_schema(
            {
                "podcast_id": text("The id of a podcast, as list_podcasts gives it."),
                "title": text("The title of a podcast, or words of it."),
            }
        ),
        output_schemas.GET_PODCAST,
    ),
    declare(
        "read_podcast_transcript",
        "Read a transcript",
        "Read the transcript (the full text) of a podcast episode, a few paragraphs at a time. Name the "
        "episode by its id, or by podcast title and episode number; without any: the latest episode. "
        "Paged by paragraph.",
        request_schema(
            {
                "episode_id": text("The id of an episode, as get_podcast gives it."),
                "podcast_title": text("The title of the podcast, or words of it."),
                "episode_number": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "The number of the episode.",
                },
                "latest": {"type": "boolean", "description": "True for the latest (newest, last) episode."},
                "limit": limit(2, 10),
                "offset": reference("Offset"),
            }
        ),
        output_schemas.READ_PODCAST_TRANSCRIPT,
    ),
    declare(
        "get_my_briefing",
        "My briefing",
        "Get my briefing: the caller's own summary of the day, with what is new and what needs attention "
        "in their centers (news, alerts, new reports).",
        request_schema({"center": reference("Center")}),
        output_schemas.GET_MY_BRIEFING,
    ),
)
