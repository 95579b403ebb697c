"""What the tools answer, without a server: data, permissions, pages, and words."""

from datetime import date

import jsonschema
import pytest

from demo.aquaportal.access import Refusal
from demo.aquaportal.answers.metrics import reading
from demo.aquaportal.data.farm import CALLERS, CENTERS, METRICS
from demo.aquaportal.data.reports import INSIGHTS, REPORTS
from demo.aquaportal.schemas import TOOLS
from demo.aquaportal.tools import answer

TODAY = date(2026, 8, 5)
ADMINISTRATOR, NORTH_REPORTS, UNASSIGNED, _ = CALLERS
SCHEMAS = {tool["name"]: tool for tool in TOOLS}
QUESTIONS = (
    ("list_reports", {}),
    ("list_reports", {"limit": 3, "offset": 3}),
    ("list_reports", {"kind": "weekly", "date_from": "2026-08-01", "date_to": "today"}),
    ("get_report", {"center": "north center"}),
    ("get_report", {"center": "north center", "latest": True}),
    ("get_report", {"report_id": "rep-east-074"}),
    ("list_insights", {}),
    ("list_insights", {"severity": "critical"}),
    ("list_insights", {"cage_number": 7, "metric": "sea_lice", "since": "yesterday"}),
    ("get_metric_history", {"metric": "oxygen", "cage_number": 4}),
    ("get_metric_history", {"metric": "feed", "center": "east center", "days": 30}),
    ("list_podcasts", {"limit": 2}),
    ("get_podcast", {}),
    ("get_podcast", {"title": "voices of the farm"}),
    ("read_podcast_transcript", {"latest": True}),
    ("read_podcast_transcript", {"podcast_title": "Feeding Time", "episode_number": 1, "offset": 2}),
    ("get_my_briefing", {}),
)


def ask(caller, name, **request):
    return answer(name, {"request": request}, caller, TODAY)


def refusal(caller, name, **request):
    with pytest.raises(Refusal) as refused:
        ask(caller, name, **request)
    return str(refused.value)


def dates(found):
    return [report["date"] for report in found["reports"]]


def test_exactly_the_eight_tools_are_declared():
    assert list(SCHEMAS) == [
        "list_reports",
        "get_report",
        "list_insights",
        "get_metric_history",
        "list_podcasts",
        "get_podcast",
        "read_podcast_transcript",
        "get_my_briefing",
    ]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool["name"])
def test_every_schema_is_valid_in_its_draft_and_needs_nothing_remote(tool):
    for schema in (tool["inputSchema"], tool["outputSchema"]):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    assert list(tool["inputSchema"]["properties"]) == ["request"]


@pytest.mark.parametrize(("name", "request_"), QUESTIONS)
def test_every_answer_fits_its_schema_and_can_be_spoken(name, request_):
    found = ask(ADMINISTRATOR, name, **request_)
    jsonschema.validate(found, SCHEMAS[name]["outputSchema"])
    assert 10 < len(found["speech"]) < 600
    assert not set(found["speech"]) & set("{}[]<>_*#")


@pytest.mark.parametrize("name", ["list_reports", "list_insights", "list_podcasts", "get_my_briefing"])
def test_an_answer_without_anything_to_show_fits_its_schema_too(name):
    found = ask(UNASSIGNED, name)
    jsonschema.validate(found, SCHEMAS[name]["outputSchema"])
    assert len(found["speech"]) > 10


def test_the_oxygen_in_cage_four_is_the_value_of_the_data_set():
    found = ask(ADMINISTRATOR, "get_metric_history", metric="oxygen", cage_number=4)
    assert found["series"][0]["latest"] == {"date": "2026-08-05", "value": 8.2}
    assert "cage 4 of the south center is 8.2 milligrams per liter today" in found["speech"]


def test_a_history_has_one_point_a_day_and_ends_today():
    found = ask(ADMINISTRATOR, "get_metric_history", metric="oxygen", cage_number=5, days=30)
    points = found["series"][0]["points"]
    assert [points[0]["date"], points[-1]["date"], len(points)] == ["2026-07-07", "2026-08-05", 30]
    assert found["series"][0]["trend"] == "falling"


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_no_measurement_is_ever_negative(metric):
    assert min(reading(metric, cage, day) for cage in range(1, 9) for day in range(30)) > 0


def test_cage_numbers_are_unique_and_cage_four_is_not_in_the_north_center():
    cages = [cage for center in CENTERS for cage in center.cages]
    assert sorted(cages) == list(range(1, 9))
    assert 4 not in CENTERS[0].cages


def test_the_data_is_kept_newest_first():
    for records in (REPORTS, INSIGHTS):
        days = [record.days_ago for record in records]
        assert days == sorted(days)


def test_reports_page_by_next_offset_until_it_is_absent():
    found, offset = [], 0
    for _ in range(4):
        page = ask(ADMINISTRATOR, "list_reports", limit=3, offset=offset)
        found += [report["report_id"] for report in page["reports"]]
        offset = page.get("next_offset")
    assert offset is None
    assert found == [report.report_id for report in REPORTS]


def test_reports_narrow_to_days():
    since = ask(ADMINISTRATOR, "list_reports", date_from="yesterday", limit=20)
    assert dates(since) == ["2026-08-05", "2026-08-05", "2026-08-04"]
    until = ask(ADMINISTRATOR, "list_reports", date_to="2026-07-30", limit=20)
    assert dates(until) == ["2026-07-30", "2026-07-28", "2026-07-26"]


def test_a_center_with_several_reports_is_ambiguous_until_one_is_named():
    found = ask(ADMINISTRATOR, "get_report", center="north center")["result"]
    assert found["kind"] == "ambiguous"
    assert len(found["candidates"]) == 4
    for narrowed in ({"latest": True}, {"date": "yesterday"}, {"kind": "weekly"}):
        assert (
            ask(ADMINISTRATOR, "get_report", center="north center", **narrowed)["result"]["kind"] == "report"
        )


def test_two_latest_reports_of_one_day_are_ambiguous():
    result = ask(ADMINISTRATOR, "get_report", latest=True)["result"]
    assert [each["report_id"] for each in result["candidates"]] == ["rep-north-118", "rep-south-231"]


@pytest.mark.parametrize(
    ("caller", "name", "request_"),
    [
        (NORTH_REPORTS, "get_metric_history", {"metric": "oxygen", "cage_number": 4}),
        (NORTH_REPORTS, "get_metric_history", {"metric": "oxygen", "center": "south center"}),
        (NORTH_REPORTS, "list_reports", {"center": "east center"}),
        (NORTH_REPORTS, "get_report", {"report_id": "rep-south-231"}),
        (NORTH_REPORTS, "list_insights", {"cage_number": 5}),
        (NORTH_REPORTS, "get_my_briefing", {"center": "south center"}),
        (UNASSIGNED, "get_metric_history", {"metric": "oxygen", "cage_number": 1}),
        (UNASSIGNED, "get_metric_history", {"metric": "oxygen"}),
    ],
)
def test_what_a_caller_may_not_see_is_refused_in_words(caller, name, request_):
    assert refusal(caller, name, **request_).startswith("You have no access to")


def test_a_report_manager_sees_their_center_only():
    found = ask(NORTH_REPORTS, "list_reports", limit=20)
    assert {report["center"] for report in found["reports"]} == {"north center"}
    cages = ask(NORTH_REPORTS, "get_metric_history", metric="oxygen")["series"]
    assert [each["cage_number"] for each in cages] == [1, 2, 3]


def test_a_caller_without_centers_has_an_empty_briefing_and_the_podcasts():
    briefing = ask(UNASSIGNED, "get_my_briefing")
    assert (briefing["centers"], briefing["insights"], briefing["reports"]) == ([], [], [])
    assert "empty" in briefing["speech"]
    assert len(ask(UNASSIGNED, "list_podcasts")["podcasts"]) == 3


def test_the_briefing_puts_the_most_serious_first():
    found = ask(ADMINISTRATOR, "get_my_briefing")
    assert [each["severity"] for each in found["insights"]] == ["critical", "warning", "warning", "warning"]
    assert len(found["reports"]) == 3


def test_the_latest_episode_is_the_default_and_its_transcript_is_paged():
    first = ask(ADMINISTRATOR, "read_podcast_transcript")
    assert first["episode"]["episode_id"] == "epi-hw-3"
    assert first["next_offset"] == 2
    last = ask(ADMINISTRATOR, "read_podcast_transcript", episode_id="epi-hw-3", offset=4)
    assert len(last["paragraphs"]) == 1
    assert "next_offset" not in last


@pytest.mark.parametrize(
    ("name", "request_", "sentence"),
    [
        ("get_metric_history", {}, '"metric" is a required property'),
        ("get_metric_history", {"metric": "happiness"}, "request.metric"),
        ("get_metric_history", {"metric": "oxygen", "cage_number": 9}, "request.cage_number"),
        ("list_reports", {"unknown": 1}, "unknown"),
        ("get_report", {"date": "2026-02-31"}, "There is no day 2026-02-31"),
        ("get_report", {"report_id": "nothing"}, "There is no report"),
        ("get_podcast", {"title": "quantum physics"}, "There is no such podcast"),
        ("read_podcast_transcript", {"episode_id": "nothing"}, "There is no such episode"),
    ],
)
def test_a_wrong_question_is_refused_with_what_is_wrong(name, request_, sentence):
    assert sentence in refusal(ADMINISTRATOR, name, **request_)


def test_days_are_counted_back_from_the_day_of_the_question():
    for today in (date(2024, 3, 1), date(2026, 1, 1)):
        found = answer("list_reports", {}, ADMINISTRATOR, today)
        assert found["reports"][0]["date"] == today.isoformat()
