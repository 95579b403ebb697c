"""Answers about what is measured in a cage or a center."""

from demo.aquaportal.access import Refusal, cages_of, center_of, check_cage
from demo.aquaportal.answers.question import Answer, Question, wanted_centers
from demo.aquaportal.answers.wording import joined
from demo.aquaportal.data.farm import DAYS, DRIFT_DAYS, METRICS
from demo.aquaportal.data.records import Metric

DEFAULT_DAYS = 7


def get_metric_history(question: Question) -> Answer:
    """The level of one metric today and on the days before, for each cage that the question is about."""
    metric = next(each for each in METRICS if each.name == question.request["metric"])
    days = question.request.get("days", DEFAULT_DAYS)
    series = [_series(question, metric, cage, days) for cage in _wanted_cages(question)]
    speech = _one_cage(metric, series[0], days) if len(series) == 1 else _many_cages(metric, series)
    return {"speech": speech, "metric": metric.name, "unit": metric.unit, "days": days, "series": series}


def reading(metric: Metric, cage_number: int, days_ago: int) -> float:
    """What was measured in this cage so many days ago, rounded as it is shown."""
    drift = metric.drift.get(cage_number, 0.0) * min(days_ago, DRIFT_DAYS)
    return round(metric.today[cage_number] + metric.swing * DAYS[days_ago] + drift, metric.decimals)


def figure(metric: Metric, value: float) -> str:
    """A value as it is read aloud, without its unit."""
    return f"{value:.{metric.decimals}f}"


def _wanted_cages(question: Question) -> tuple[int, ...]:
    center, cage = question.request.get("center"), question.request.get("cage_number")
    wanted_centers(question)
    if cage is not None:
        check_cage(question.caller, cage, center)
        return (cage,)
    cages = cages_of(question.caller, center)
    if not cages:
        raise Refusal("You have no access to any cage, because no center is assigned to you.")
    return cages


def _series(question: Question, metric: Metric, cage: int, days: int) -> Answer:
    values = [reading(metric, cage, days_ago) for days_ago in reversed(range(days))]
    points = [
        {"date": question.day(days - 1 - index).isoformat(), "value": value}
        for index, value in enumerate(values)
    ]
    return {
        "center": center_of(cage),
        "cage_number": cage,
        "latest": points[-1],
        "minimum": min(values),
        "maximum": max(values),
        "average": round(sum(values) / len(values), metric.decimals),
        "trend": _trend(metric, values),
        "points": points,
    }


def _trend(metric: Metric, values: list[float]) -> str:
    change = values[-1] - values[0]
    if abs(change) <= metric.swing:
        return "steady"
    return "rising" if change > 0 else "falling"


def _one_cage(metric: Metric, series: Answer, days: int) -> str:
    where = f"cage {series['cage_number']} of the {series['center']}"
    now = f"The {metric.label} in {where} is {figure(metric, series['latest']['value'])} {metric.unit} today."
    if days == 1:
        return now
    low, high = figure(metric, series["minimum"]), figure(metric, series["maximum"])
    return f"{now} Over the last {days} days it was between {low} and {high}, and it is {series['trend']}."


def _many_cages(metric: Metric, series: list[Answer]) -> str:
    values = [f"{figure(metric, each['latest']['value'])} in cage {each['cage_number']}" for each in series]
    return f"The {metric.label} today, in {metric.unit}: {joined(values)}."
