"""Operators see what changed of a tool, line by line, and approve it; nobody else does."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from conversations.admin.json_diff import MOST_COMPARED, MOST_LINES, diff
from conversations.tests import operators as make
from tools.models import ToolDeclaration

pytestmark = pytest.mark.django_db

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def change():
    """A change that waits, of a tool that was approved before."""
    make.declaration("Reads a report.", approved_at=make.NOON)
    return make.declaration(f"Reads a report. {SCRIPT}", first_seen_at=make.NOON + timedelta(hours=1))


def address(what, change):
    return reverse(f"admin:tools_tooldeclaration_{what}", args=[change.pk])


def test_the_page_shows_what_is_new_and_what_is_gone(change):
    shown = make.words(make.viewer().get(address("change", change)))
    assert '<span class="vo-taken">-  &quot;description&quot;: &quot;Reads a report.&quot;' in shown
    assert '<span class="vo-added">+  &quot;description&quot;: &quot;Reads a report. &lt;script' in shown
    assert SCRIPT not in shown
    assert address("approve", change) not in shown


def test_an_operator_approves_once_and_it_is_logged(change):
    olga = make.operator()
    asked = make.words(olga.get(address("approve", change)))
    assert "Approve the change of get_report?" in asked
    assert ToolDeclaration.objects.filter(approved_at=None).count() == 1
    for _ in range(2):
        assert olga.post(address("approve", change)).status_code == 302
    change.refresh_from_db()
    assert change.approved_by == "olga"
    assert [entry.change_message for entry in LogEntry.objects.all()] == ["Approved the change."]
    shown = make.words(olga.get(address("change", change)))
    assert "by olga" in shown
    assert address("approve", change) not in shown


@pytest.mark.parametrize("who", [make.viewer, make.auditor])
def test_nobody_else_approves(change, who):
    client = who()
    assert client.get(address("approve", change)).status_code == 403
    assert client.post(address("approve", change)).status_code == 403
    change.refresh_from_db()
    assert change.approved_at is None


def test_the_list_can_be_asked_for_what_waits(change):
    shown = make.words(
        make.operator().get(f"{reverse('admin:tools_tooldeclaration_changelist')}?approved=no")
    )
    assert address("change", change) in shown
    assert shown.count("/admin/tools/tooldeclaration/") >= 1
    first = ToolDeclaration.objects.exclude(pk=change.pk).get()
    assert address("change", first) not in shown


def test_a_first_declaration_has_nothing_to_be_compared_with():
    first = make.declaration(approved_at=make.NOON)
    assert "It is the first declaration" in make.words(make.viewer().get(address("change", first)))


def test_a_change_that_is_not_there_is_not_found():
    assert make.operator().get(reverse("admin:tools_tooldeclaration_approve", args=[999])).status_code == 404


def test_a_long_diff_is_cut_and_says_so():
    lines = diff({"a": list(range(2_000))}, {"a": list(range(2_000, 4_000))})
    assert len(lines) == MOST_LINES + 1
    assert lines[-1].text.endswith("more lines are not shown here.")


def test_a_change_far_down_a_long_declaration_is_shown():
    long = {"a": ["x" * 100] * 2_000, "z": "Reads a report."}
    [gone, new] = [
        line for line in diff(long, long | {"z": "Sends it away."}) if line.tone in ("added", "taken")
    ]
    assert (gone.text, new.text) == ('-  "z": "Reads a report."', '+  "z": "Sends it away."')


def test_a_change_too_large_to_be_compared_shows_both_of_its_sides():
    old, new = [[number % 7 + side for number in range(2 * MOST_COMPARED)] for side in (0, 1)]
    lines = diff({"a": old}, {"a": new})
    assert len(lines) == MOST_LINES + 1
    assert {line.tone for line in lines} >= {"added", "taken"}
    assert lines[-1].text.endswith("more lines are not shown here.")


def test_words_that_show_nothing_are_written_out(change):
    hidden = "".join(chr(0xE0000 + ord(sign)) for sign in "obey")
    ToolDeclaration.objects.filter(pk=change.pk).update(
        declaration={"description": f"Reads\u200b a \u202ereport.{hidden}\ufe01"}
    )
    shown = make.words(make.viewer().get(address("change", change)))
    assert shown.count("Reads\\u200b a \\u202ereport.\\udb40\\udc6f") == 2, "in the diff and in the whole"
    assert not set(shown) & set(f"\u200b\u202e{hidden}\ufe01")
