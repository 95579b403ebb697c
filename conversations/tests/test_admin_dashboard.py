"""The dashboard: what it counts, that each number's list has as many rows, and what it costs."""

import random
from datetime import timedelta
from html.parser import HTMLParser

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from redis.exceptions import ConnectionError as RedisGone

from conversations import lifecycle
from conversations.admin import charts, dashboard, numbers, percentiles
from conversations.admin.numbers import PERIODS, period_named
from conversations.models import Turn
from conversations.tests import operators as make
from conversations.tests.rows import OWNER, ago

pytestmark = pytest.mark.django_db

INDEX = reverse("admin:index")
HOUR, DAY, WEEK = PERIODS


@pytest.fixture(autouse=True)
def _no_numbers_of_other_tests():
    cache.clear()


def waited(conversation, index, ms, age=600, **values):
    """A spoken turn whose answer came so long after the caller's words."""
    start = ago(seconds=age)
    spoken = start + timedelta(seconds=2)
    times = {
        "started_at": start,
        "caller_done_at": spoken,
        "answered_at": spoken + timedelta(milliseconds=ms),
    }
    return make.turn(conversation, index, **{**times, **values})


@pytest.fixture
def busy():
    """Some calls of the last hour with everything that the dashboard tells apart, and older ones."""
    lifecycle.claim(str(make.conversation().pk), OWNER)
    row = make.conversation(state="closed", close_reason="idle")
    make.conversation(state="closed", close_reason="idle", opened_at=ago(days=3))
    outcomes = ["done", "done", "interrupted", "cancelled", "failed", "failed"]
    for index, outcome in enumerate(outcomes, 1):
        code = ("no_answer" if index == 5 else "") if outcome == "failed" else ""
        answer = {"answered_at": None} if outcome == "failed" else {}
        waited(row, index, 700 + 100 * index, outcome=outcome, code=code, **answer)
    typed = make.turn(
        row, 7, origin="text", started_at=ago(minutes=5), answered_at=ago(minutes=4), rating="bad"
    )
    old = waited(row, 8, 9_000, age=3 * 86_400, rating="good")
    calls = [
        {"name": "get_report"},
        {"name": "get_report", "status": "failed", "code": "timeout"},
        {"name": "get_report", "status": "failed", "code": "cancelled"},
        {"name": "list_reports", "status": "failed", "code": "invalid_arguments"},
        {"name": "made_up", "status": "failed", "code": "unknown_tool", "source": ""},
        {"name": "list_reports", "status": "running", "duration_ms": None},
    ]
    for sequence, values in enumerate(calls, 1):
        make.call(typed, sequence, **values)
    make.call(old, 1, name="get_report")
    return row


class Numbers(HTMLParser):
    """Every link of a page whose words are a whole number, with its address."""

    def __init__(self, page):
        super().__init__()
        self.found, self._address = [], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self._address = dict(attrs).get("href") if tag == "a" else self._address

    def handle_data(self, data):
        number = data.strip().removeprefix("of ").removesuffix(" spoken").replace(",", "")
        if self._address and number.isdigit():
            self.found.append((int(number), self._address))

    def handle_endtag(self, tag):
        self._address = None if tag == "a" else self._address


@pytest.mark.parametrize("period", ["1h", "24h", "7d"])
def test_every_number_leads_to_a_list_of_as_many_rows(busy, period):
    client = make.root()
    page = make.words(client.get(f"{INDEX}?period={period}"))
    lists = "/admin/conversations/"
    linked = [(number, url) for number, url in Numbers(page).found if lists in url and "?" in url]
    counted = {url: number for number, url in linked if "wait=" not in url or "wait=0" in url}
    assert len(counted) > 15
    for url, number in counted.items():
        listed = client.get(url)
        assert listed.status_code == 200, url
        assert listed.context["cl"].result_count == number, url


@pytest.mark.parametrize(
    ("name", "count"),
    [("Interrupted by the caller", 1), ("Turns that failed", 2), ("Tool calls that failed", 3)],
)
def test_a_rate_leads_to_the_rows_that_it_is_the_share_of(busy, name, count):
    client = make.root()
    tile = next(each for each in client.get(INDEX).context["tiles"] if each.name == name)
    assert tile.note.startswith(f"{count} of ")
    assert client.get(tile.url).context["cl"].result_count == count


def test_the_tiles_of_an_hour(busy):
    found = {tile.name: (tile.value, tile.note) for tile in make_tiles("1h")}
    assert found == {
        "Live now": ("1", "2 opened in the period"),
        "Turns": ("7", "6 spoken"),
        "Voice to voice, half within": ("950 ms", "95 % within 1.08 s"),
        "Interrupted by the caller": ("17 %", "1 of 6 spoken turns"),
        "Turns that failed": ("29 %", "2 of 7"),
        "Answers liked": ("0", "1 not liked"),
        "Tool calls that failed": ("60 %", "3 of 5"),
        "Tool calls refused": ("2", "before the tool ran"),
    }


def make_tiles(period):
    return dashboard.tiles(numbers.counted(period_named(period), timezone.now()), True, True)


def test_a_percentile_leads_to_the_turns_that_took_at_least_so_long(busy):
    client = make.root()
    (spoken, written) = client.get(f"{INDEX}?period=1h").context["waits"]
    assert (spoken.name, spoken.values[0], spoken.count) == ("Voice to voice", "950 ms", 4)
    assert written.values[0] == "59.00 s"
    slow = client.get(spoken.urls[1]).context["cl"].result_list
    assert [row.index for row in slow] == [4], "the slowest of four, at 1,100 ms"


@pytest.mark.parametrize("wait", ["abc", "-5", "²", "99999999999999999999"])
def test_nonsense_in_a_filter_of_the_address_is_no_error(busy, wait):
    address = reverse("admin:conversations_turn_changelist")
    assert make.viewer().get(address, {"wait": wait}).status_code == 200


def test_the_chart_has_every_turn_of_the_period_in_its_bar(busy):
    context = make.root().get(f"{INDEX}?period=7d").context
    chart = context["chart"]
    assert (len(chart.columns), chart.total) == (28, 8)
    assert [column.total for column in chart.columns if column.total] in ([1, 7], [1, 6, 1], [1, 1, 6])
    assert "7 turns" in make.words(make.viewer().get(f"{INDEX}?period=1h"))


def test_a_turn_of_the_first_and_of_the_last_second_are_in_the_first_and_the_last_bar():
    row, now = make.conversation(), timezone.now()
    found = numbers.counted(HOUR, now)
    make.turn(row, 1, started_at=found.start)
    make.turn(row, 2, started_at=found.end - timedelta(milliseconds=1))
    make.turn(row, 3, started_at=found.start - timedelta(milliseconds=1))
    make.turn(row, 4, started_at=found.end)
    assert sorted(group.slot for group in numbers.counted(HOUR, now).turns) == [0, HOUR.slots - 1]


def test_a_dashboard_without_a_call_says_so_in_words():
    page = make.words(make.root().get(INDEX))
    for words in ("Nobody said anything", "No turn was answered", "No tool was wanted", "None was opened."):
        assert words in page
    assert "<svg class=" not in page


def test_an_unknown_period_is_the_usual_one(busy):
    assert make.viewer().get(f"{INDEX}?period=' OR 1=1").context["period"] is DAY


def bounded(queries):
    """Those about a stretch of time, which is written in both its bounds."""
    return [query for query in queries if "started_at" in query["sql"] and 'started_at" < ' in query["sql"]]


def test_the_numbers_are_counted_once_for_all_operators_and_by_as_many_queries_for_many_rows(
    busy, monkeypatch
):
    monkeypatch.setattr(numbers, "KEPT", 600)
    clients = [make.signed_in(f"op{number}", make.VIEW) for number in range(3)]
    sent = []
    for client in clients:
        with CaptureQueriesContext(connection) as queries:
            client.get(INDEX)
        sent.append(bounded(queries))
    assert (len(sent[0]), sent[1:]) == (5, [[]] * 2)
    for index in range(20, 40):
        make.call(make.turn(busy, index, started_at=ago(seconds=index)))
    cache.clear()
    with CaptureQueriesContext(connection) as queries:
        clients[0].get(INDEX)
    assert len(bounded(queries)) == 5
    assert not any("conversations_turn" in query["sql"] for query in queries if query not in bounded(queries))


def test_a_dashboard_does_not_depend_on_the_cache(busy, monkeypatch):
    def gone(*_args, **_options):
        raise RedisGone

    monkeypatch.setattr(cache, "get", gone)
    assert make.viewer().get(INDEX).context["numbers"].live == 1


def test_each_part_is_shown_to_whoever_may_see_its_list(busy):
    nobody, callers, tools = (
        make.words(make.signed_in(name, permissions).get(INDEX))
        for name, permissions in {
            "nils": [],
            "cleo": ["conversations.view_conversation"],
            "tom": ["conversations.view_toolcall"],
        }.items()
    )
    parts = ("Live now", "Tool calls that failed", "Turns, by how they ended", ">Tools<")
    assert [part in nobody for part in parts] == [False] * 4
    assert [part in callers for part in parts] == [True, False, True, False]
    assert [part in tools for part in parts] == [False, True, False, True]


def test_a_tools_name_cannot_break_the_page(busy):
    make.call(Turn.objects.first(), 9, name='<script>"', started_at=timezone.now())
    page = make.words(make.viewer().get(INDEX))
    assert "&lt;script&gt;&quot;" in page
    assert '<script>"' not in page


def test_a_turn_leads_to_its_place_on_its_conversations_page(busy):
    turn = Turn.objects.filter(conversation=busy, index=3).get()
    response = make.viewer().get(reverse("admin:conversations_turn_change", args=[turn.pk]))
    assert response.url.endswith(f"{busy.pk}/change/?page=1#turn-3")


def test_turns_are_listed_without_their_words(busy):
    client = make.auditor()
    with CaptureQueriesContext(connection) as queries:
        page = make.words(client.get(reverse("admin:conversations_turn_changelist")))
    assert "the spoken question" not in page
    assert not any("caller_text" in query["sql"] for query in queries)


@pytest.mark.parametrize(
    ("values", "p50", "p99"), [([7], 7, 7), ([1, 2], 1.5, 1.99), (range(101), 50, 99), ([5, 1, 3], 3, 4.96)]
)
def test_percentiles_are_linear_between_two_values(values, p50, p99):
    found = percentiles.spread(values)
    assert (found.p50, found.p99) == (pytest.approx(p50), pytest.approx(p99))


@pytest.mark.database_server
def test_postgres_and_python_find_the_same_percentiles():
    rng, row = random.Random(7), make.conversation()
    for index in range(1, 60):
        origin = rng.choice(["voice", "text", "http"])
        turn = waited(row, index, rng.uniform(100, 9_000), origin=origin)
        make.call(turn, duration_ms=rng.randrange(5_000), name=rng.choice(["a_tool", "b_tool"]))
    turns, calls = Turn.objects.all(), numbers.ToolCall.objects.all()
    pairs = [
        (percentiles.waits(turns), percentiles._sampled_waits(turns)),
        (percentiles.durations(calls), percentiles._sampled_durations(calls.filter(percentiles.DONE))),
    ]
    for by_database, by_python in pairs:
        assert set(by_database) == set(by_python)
        for key, spread in by_database.items():
            other = by_python[key]
            assert spread.count == other.count
            shares = [(spread.p50, other.p50), (spread.p95, other.p95), (spread.p99, other.p99)]
            assert all(one == pytest.approx(two) for one, two in shares)


def test_a_sample_says_that_it_is_one(busy, monkeypatch):
    monkeypatch.setattr(percentiles, "SAMPLE", 2)
    assert percentiles._sampled_waits(Turn.objects.all())["written"].sampled


@pytest.mark.parametrize(
    ("most", "top"), [(0, 4), (4, 4), (5, 6), (7, 8), (11, 12), (57, 60), (213, 240), (5_000, 5_200)]
)
def test_a_scale_ends_soon_after_its_largest_number(most, top):
    assert charts.round_top(most) == top


def test_bars_are_stacked_without_a_gap_and_fit_the_drawing():
    chart = charts.stacked(
        ["a", "b"], {"done": [3, 0], "failed": [1, 4]}, {"done": "answered", "failed": "failed"}
    )
    first, second = chart.columns
    assert first.words == "a: 3 answered, 1 failed"
    bottom, top = first.pieces
    assert float(bottom.y) + float(bottom.height) == charts.SIZE
    assert float(top.y) + float(top.height) == pytest.approx(float(bottom.y))
    assert min(float(piece.y) for column in chart.columns for piece in column.pieces) >= 0
    assert (second.total, chart.total) == (4, 8)
