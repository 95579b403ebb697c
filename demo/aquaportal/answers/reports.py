"""Answers about reports: the list, and one report or the candidates for it."""

from demo.aquaportal.access import Refusal, check_center
from demo.aquaportal.answers.question import Answer, Question, page_of, wanted_centers, wanted_days_ago
from demo.aquaportal.answers.wording import counted, joined, span, spoken_day
from demo.aquaportal.data.records import Report
from demo.aquaportal.data.reports import REPORTS

MAX_CANDIDATES = 5


def list_reports(question: Question) -> Answer:
    """One page of the caller's reports, newest first."""
    first, last = wanted_days_ago(question, "date_from"), wanted_days_ago(question, "date_to")
    found = [
        report
        for report in matching(question)
        if (first is None or report.days_ago <= first) and (last is None or report.days_ago >= last)
    ]
    shown, fields = page_of(found, question)
    speech = _list_speech(question, shown, fields)
    return {"speech": speech, "reports": [summary(question, report) for report in shown], **fields}


def get_report(question: Question) -> Answer:
    """The one report that fits, or the candidates when several do."""
    found = _candidates(question)
    if len(found) == 1:
        return {
            "speech": _report_speech(question, found[0]),
            "result": {"kind": "report", "report": _whole(question, found[0])},
        }
    shown = found[:MAX_CANDIDATES]
    names = [f"the {named(question, report)}" for report in shown]
    count = f"{counted(len(found), 'report')} fit"
    speech = f"{count}, the newest are" if len(found) > len(shown) else count
    return {
        "speech": f"{speech}: {joined(names)}. Which one do you mean?",
        "result": {"kind": "ambiguous", "candidates": [summary(question, report) for report in shown]},
    }


def matching(question: Question) -> list[Report]:
    """The caller's reports of the asked center and kind."""
    centers, kind = wanted_centers(question), question.request.get("kind")
    return [report for report in REPORTS if report.center in centers and kind in (None, report.kind)]


def summary(question: Question, report: Report) -> Answer:
    """A report as lists show it."""
    return {
        "report_id": report.report_id,
        "title": f"{report.kind.capitalize()} report of the {report.center}",
        "center": report.center,
        "kind": report.kind,
        "date": question.day(report.days_ago).isoformat(),
        "summary": report.summary,
    }


def named(question: Question, report: Report) -> str:
    """A report as people name it: daily report of the north center from yesterday."""
    when = spoken_day(question.day(report.days_ago), question.today).removeprefix("on ")
    return f"{report.kind} report of the {report.center} from {when}"


def _whole(question: Question, report: Report) -> Answer:
    return summary(question, report) | {
        "author": report.author,
        "findings": list(report.findings),
        "recommendation": report.recommendation,
    }


def _candidates(question: Question) -> list[Report]:
    report_id = question.request.get("report_id")
    if report_id is not None:
        return [_by_id(question, report_id)]
    found, asked = matching(question), wanted_days_ago(question, "date")
    if asked is not None:
        found = [report for report in found if report.days_ago == asked]
    if question.request.get("latest") and found:
        found = [report for report in found if report.days_ago == found[0].days_ago]
    if not found:
        raise Refusal("There is no such report among those that you may see.")
    return found


def _by_id(question: Question, report_id: str) -> Report:
    report = next((each for each in REPORTS if each.report_id == report_id), None)
    if report is None:
        raise Refusal("There is no report with that id.")
    check_center(question.caller, report.center)
    return report


def _list_speech(question: Question, shown: list[Report], fields: Answer) -> str:
    if not question.caller.centers:
        return "You have no centers assigned, so there are no reports for you."
    if not shown:
        return "There are no more reports." if fields["total"] else "There are no such reports."
    names = joined([named(question, report) for report in shown])
    total, offset = fields["total"], fields["offset"]
    if len(shown) == total:
        start = f"You have {counted(total, 'report')}"
    elif offset:
        start = span("Report", offset, len(shown), total)
    else:
        start = f"You have {counted(total, 'report')}. The latest {len(shown)} are"
    return f"{start}: {names}."


def _report_speech(question: Question, report: Report) -> str:
    return (
        f"The {named(question, report)}, by {report.author}. {report.summary} {' '.join(report.findings)} "
        f"Recommendation: {report.recommendation}"
    )
