"""Long lists: bounded pages, a bounded count, and the way to what lies beyond."""

from datetime import timedelta

import pytest
from django.urls import reverse

from conversations.models import ToolCall
from conversations.tests import operators as make
from tools import paging

pytestmark = pytest.mark.django_db

CALLS = reverse("admin:conversations_toolcall_changelist")


@pytest.fixture
def calls(monkeypatch):
    """Sixty calls, of which one list shows fifty; newest first, two of them at the same moment."""
    monkeypatch.setattr(paging, "MOST_ROWS", 50)
    turn = make.turn(make.conversation())
    made = [
        make.call(turn, number, started_at=make.NOON - timedelta(minutes=number)) for number in range(1, 61)
    ]
    ToolCall.objects.filter(pk=made[50].pk).update(started_at=made[49].started_at)
    return made


def shown(response):
    return [row.pk for row in response.context["cl"].result_list]


def test_a_list_within_the_bound_is_counted_to_its_end():
    make.call(make.turn(make.conversation()))
    changes = make.viewer().get(CALLS).context["cl"]
    assert (changes.result_count, changes.paginator.more, changes.further) == (1, False, None)


def test_a_longer_list_says_that_there_are_more_and_ends_at_the_bound(calls):
    response = make.viewer().get(CALLS)
    changes = response.context["cl"]
    assert (changes.result_count, changes.paginator.num_pages, changes.further) == (50, 2, None)
    assert "more than 50 tool calls" in " ".join(make.words(response).split())


def test_a_page_beyond_the_bound_does_not_exist(calls):
    assert make.viewer().get(f"{CALLS}?p=3").status_code == 302


def test_the_last_page_leads_to_the_older_ones_and_none_is_left_out(calls):
    client = make.viewer()
    first, last = client.get(CALLS), client.get(f"{CALLS}?p=2")
    onward = last.context["cl"].further_url
    assert f'href="{onward.replace("&", "&amp;")}">Older ones</a>' in make.words(last)
    beyond = client.get(f"{CALLS}{onward}")
    assert "p=" not in onward
    assert {*shown(first), *shown(last), *shown(beyond)} == {call.pk for call in calls}
    assert beyond.context["cl"].further is None


def test_filters_stay_on_the_way_to_the_older_ones(calls):
    last = make.viewer().get(f"{CALLS}?name=get_report&p=2")
    assert "name=get_report" in last.context["cl"].further_url


def test_a_list_that_begins_with_the_oldest_goes_on_with_newer_ones(calls):
    client = make.viewer()
    first, last = client.get(f"{CALLS}?o=0"), client.get(f"{CALLS}?o=0&p=2")
    assert last.context["cl"].further.word == "Newer ones"
    beyond = client.get(f"{CALLS}{last.context['cl'].further_url}")
    assert {*shown(first), *shown(last), *shown(beyond)} == {call.pk for call in calls}


def test_a_list_without_times_just_ends(calls):
    assert paging.further(["name", "-pk"], calls[0]) is None
    assert paging.further([], calls[0]) is None
