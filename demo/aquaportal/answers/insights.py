"""Answers about what needs attention: the insights, and the caller's briefing."""

from demo.aquaportal.access import check_cage
from demo.aquaportal.answers.question import Answer, Question, page_of, wanted_centers, wanted_days_ago
from demo.aquaportal.answers.reports import matching, named, summary
from demo.aquaportal.answers.wording import counted, joined, span, spoken_day
from demo.aquaportal.data.records import Insight
from demo.aquaportal.data.reports import INSIGHTS

SEVERITIES = ("critical", "warning", "info")
BRIEFING_DAYS = 1


def list_insights(question: Question) -> Answer:
    """One page of the insights on the caller's cages, newest first."""
    request, centers = question.request, wanted_centers(question)
    if "cage_number" in request:
        check_cage(question.caller, request["cage_number"], request.get("center"))
    since = wanted_days_ago(question, "since")
    found = [
        insight
        for insight in INSIGHTS
        if insight.center in centers
        and (since is None or insight.days_ago <= since)
        and request.get("cage_number") in (None, insight.cage_number)
        and request.get("metric") in (None, insight.metric)
        and request.get("severity") in (None, insight.severity)
    ]
    shown, fields = page_of(found, question)
    speech = _list_speech(question, shown, fields)
    return {"speech": speech, "insights": [_entry(question, insight) for insight in shown], **fields}


def get_my_briefing(question: Question) -> Answer:
    """What is new since yesterday in the caller's centers, the most serious first."""
    centers = wanted_centers(question)
    insights = [each for each in INSIGHTS if each.center in centers and each.days_ago <= BRIEFING_DAYS]
    insights.sort(key=lambda insight: SEVERITIES.index(insight.severity))
    reports = [report for report in matching(question) if report.days_ago <= BRIEFING_DAYS]
    names = [named(question, report) for report in reports]
    return {
        "speech": _briefing_speech(question, insights, names),
        "date": question.today.isoformat(),
        "centers": list(centers),
        "insights": [_entry(question, insight) for insight in insights],
        "reports": [summary(question, report) for report in reports],
    }


def _entry(question: Question, insight: Insight) -> Answer:
    return {
        "insight_id": insight.insight_id,
        "center": insight.center,
        "cage_number": insight.cage_number,
        "metric": insight.metric,
        "severity": insight.severity,
        "date": question.day(insight.days_ago).isoformat(),
        "text": insight.text,
    }


def _list_speech(question: Question, shown: list[Insight], fields: Answer) -> str:
    if not shown:
        return "There are no more insights." if fields["total"] else "There are no such insights."
    start = counted(fields["total"], "insight")
    if len(shown) < fields["total"]:
        start = span("Insight", fields["offset"], len(shown), fields["total"])
    texts = [
        f"{insight.severity.capitalize()}, {spoken_day(question.day(insight.days_ago), question.today)}: "
        f"{insight.text}"
        for insight in shown
    ]
    return f"{start}. {' '.join(texts)}"


def _briefing_speech(question: Question, insights: list[Insight], reports: list[str]) -> str:
    name = question.caller.name
    if not question.caller.centers:
        return f"{name}, you have no centers assigned, so your briefing is empty today."
    if not insights and not reports:
        return f"{name}, nothing is new since yesterday."
    parts = [f"Here is your briefing, {name}."]
    if insights:
        parts.append(f"{counted(len(insights), 'insight')}. {' '.join(each.text for each in insights)}")
    if reports:
        parts.append(f"{counted(len(reports), 'new report')}: {joined(reports)}.")
    return " ".join(parts)
