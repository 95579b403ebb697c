"""What leaves the admin as a file: for whom, with which columns, how many rows, and never as a formula."""

import csv
import io
import json
import re
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import NoReverseMatch, get_resolver, reverse

from conversations.admin import columns, conversation_export, exports, files
from conversations.tests import operators as make

pytestmark = pytest.mark.django_db

CALLS = reverse("admin:conversations_toolcall_export")
CONVERSATIONS = reverse("admin:conversations_conversation_export")
TEXTS = ("the spoken question", "the heard answer")
PAYLOADS = ("the secret argument", "the secret result")


@async_to_sync
async def content(response):
    """All of the file, read as the server sends it."""
    return "".join([piece.decode() async for piece in response.streaming_content])


def taken(client, address, kind="csv"):
    response = client.post(address, {"kind": kind})
    assert response.status_code == 200
    return content(response)


def table(text):
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text[1:])))


def of_one(row):
    return reverse("admin:conversations_conversation_export_one", args=[row.pk])


@pytest.fixture
def row():
    row = make.conversation(backend_user_id="usr-1", browser_hash="b" * 64, secret_hash="s" * 64)
    make.call(make.turn(row), ref="K7M2XQD")
    make.upstream(row, instruction_digest="d" * 64)
    return row


def test_a_list_of_calls_is_a_table_of_what_the_reader_may_see(row):
    [call] = table(taken(make.viewer(), CALLS))
    assert (call["caller"], call["tool"], call["turn"], call["ref"]) == (
        "Marta",
        "get_report",
        "1",
        "K7M2XQD",
    )
    assert (call["started_at"], call["duration_ms"]) == ("2026-11-30T12:01:01.200+00:00", "300")
    assert "arguments" not in call
    [whole] = table(taken(make.auditor(), CALLS))
    assert json.loads(whole["arguments"]) == {"request": {"report_id": "the secret argument"}}
    assert whole["result_beginning"] == "the secret result"


def test_json_keeps_what_a_value_is(row):
    file = json.loads(taken(make.auditor(), CALLS, "json"))
    [call] = file["rows"]
    assert (call["duration_ms"], call["approved_at"], call["result_shortened"]) == (300, None, False)
    assert call["arguments"] == {"request": {"report_id": "the secret argument"}}
    assert file["cut"] == []


def test_a_list_of_conversations_counts_as_the_list_does(row):
    make.call(make.turn(row, 2, outcome="failed"), status="failed", code="timeout")
    [conversation] = json.loads(taken(make.viewer(), CONVERSATIONS, "json"))["rows"]
    counts = ("turns", "turns_failed", "tool_calls", "tool_calls_failed")
    assert [conversation[name] for name in counts] == [2, 1, 2, 1]
    assert conversation["backend_user"] == "usr-1"


def test_the_rows_are_those_of_the_narrowed_list_in_its_order(row):
    for number in (2, 3):
        make.call(make.turn(row, number), name=f"tool_{number}", status="failed", code="timeout")
    client = make.viewer()
    names = [call["tool"] for call in table(taken(client, f"{CALLS}?code=timeout"))]
    assert names == ["tool_3", "tool_2"]
    assert len(table(taken(client, f"{CALLS}?q=tool_3"))) == 1
    assert client.get(f"{CALLS}?started_at__gte=nonsense").status_code == 302
    assert client.get(f"{CALLS}?excerpt__contains=secret").status_code == 400


@pytest.mark.parametrize(
    ("who", "texts", "payloads"), [(make.viewer, False, False), (make.auditor, True, True)]
)
def test_a_conversation_leaves_with_what_its_page_shows_this_reader(row, who, texts, payloads):
    client = who()
    whole = taken(client, of_one(row), "json")
    file = json.loads(whole)
    assert set(file) == {"exported_at", "conversation", "turns", "tool_calls", "sessions", "cut"}
    assert file["conversation"]["caller"] == "Marta"
    assert file["sessions"][0]["tools"] == ["get_report"]
    assert [text in whole for text in TEXTS] == [texts, texts]
    assert [text in whole for text in PAYLOADS] == [payloads, payloads]
    turns = table(taken(client, of_one(row)))
    assert ("caller_text" in turns[0]) == texts


def test_no_file_holds_a_credential_a_hash_of_one_or_a_phone(row):
    hidden = re.compile(
        r"phone|token|cipher|secret|hash|fingerprint|browser|owner|lease|key|session$|argument_digest"
    )
    for each in vars(columns).values():
        if isinstance(each, type) and issubclass(each, columns.Resource):
            assert not [name for name in columns.attributes(each) if hidden.search(name)], each
    client = make.auditor()
    text = taken(client, CONVERSATIONS) + taken(client, CALLS) + taken(client, of_one(row), "json")
    assert not any(value in text for value in ("b" * 64, "s" * 64, "f" * 64, "sealed"))


@pytest.mark.parametrize("beginning", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1"])
def test_a_cell_is_never_a_formula(beginning, row):
    assert files.cell(f"{beginning}x") == f"'{beginning}x"
    row.caller_name = f"{beginning}x"
    row.save()
    assert table(taken(make.viewer(), CONVERSATIONS))[0]["caller"] == f"'{beginning}x"


def test_numbers_truth_and_nothing_stay_what_they_are():
    assert [files.cell(value) for value in (-3, 0, True, None, [], {"a": "=1"})] == [
        "-3",
        "0",
        "true",
        "",
        "[]",
        '{"a": "=1"}',
    ]


def test_more_rows_than_a_file_takes_are_left_out_and_said_to_be(row, monkeypatch):
    monkeypatch.setattr(exports, "MOST_ROWS", 2)
    for number in range(2, 5):
        make.call(make.turn(row, number))
    client = make.viewer()
    assert "There are more than 2 rows." in make.words(client.get(CALLS))
    response = client.post(CALLS, {"kind": "csv"})
    assert "-first-2.csv" in response.headers["Content-Disposition"]
    assert len(table(content(response))) == 2
    file = json.loads(taken(client, CALLS, "json"))
    assert (len(file["rows"]), file["cut"]) == (2, ["rows"])
    assert "the first 2 of the tool calls" in LogEntry.objects.first().change_message


def test_a_long_conversation_says_which_of_its_tables_were_cut(row, monkeypatch):
    monkeypatch.setattr(conversation_export, "MOST_ROWS", 1)
    make.turn(row, 2)
    assert json.loads(taken(make.viewer(), of_one(row), "json"))["cut"] == ["turns"]


def test_chunks_follow_one_another_without_a_gap(row, monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 2)
    for number in range(2, 6):
        make.call(make.turn(row, number))
    client = make.viewer()
    assert [call["turn"] for call in table(taken(client, CALLS))] == ["5", "4", "3", "2", "1"]
    assert len(json.loads(taken(client, CALLS, "json"))["rows"]) == 5
    assert len(json.loads(taken(client, of_one(row), "json"))["turns"]) == 5


def test_a_file_costs_the_same_queries_for_many_rows_as_for_few_case_188(row):
    client, counts = make.root(), []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            taken(client, CONVERSATIONS), taken(client, CALLS)
        counts.append([query["sql"] for query in queries])
        for number in range(30):
            other = make.conversation(opened_at=make.NOON - timedelta(days=number))
            make.call(make.turn(other))
    assert len(counts[0]) == len(counts[1])
    assert not any("COUNT(*)" in sql and "GROUP BY" not in sql for sql in counts[1])


def test_whoever_exports_is_in_the_log_with_what(row):
    aude = make.auditor()
    taken(aude, f"{CALLS}?code=&status__exact=completed")
    taken(aude, of_one(row), "json")
    one, whole = LogEntry.objects.order_by("pk")
    assert (one.user.username, whole.user.username, whole.object_id) == ("aude", "aude", str(row.pk))
    assert "Exported tool calls as CSV, narrowed by code=&status__exact=completed." in one.change_message
    assert "arguments" in one.change_message
    assert whole.change_message == "Exported the conversation as JSON, with what was said."
    aude.get(CALLS)
    assert LogEntry.objects.count() == 2, "looking at the page takes nothing away"


def test_a_file_is_taken_by_a_form_of_this_site_only(row):
    client = make.signed_in("vera", make.VIEW, csrf=True)
    assert client.post(CALLS, {"kind": "csv"}).status_code == 403
    assert client.post(of_one(row), {"kind": "csv"}).status_code == 403
    assert make.signed_in("vero", make.VIEW).get(of_one(row)).status_code == 405
    assert LogEntry.objects.count() == 0


def test_staff_without_permission_and_strangers_take_nothing(row):
    only_calls = make.signed_in("carl", ["conversations.view_toolcall"])
    assert only_calls.get(CONVERSATIONS).status_code == 403
    for address in (CONVERSATIONS, of_one(row)):
        assert only_calls.post(address, {"kind": "csv"}).status_code == 403
    assert make.signed_in("nils").post(CALLS, {"kind": "csv"}).status_code == 403


def test_nothing_can_be_imported_by_anybody(row):
    names = {str(name) for name in get_resolver().namespace_dict["admin"][1].reverse_dict}
    assert "conversations_toolcall_export" in names
    assert not [name for name in names if "import" in name]
    with pytest.raises(NoReverseMatch):
        reverse("admin:conversations_toolcall_import")
    root = make.root()
    for what in ("toolcall", "conversation"):
        shown = make.words(root.get(reverse(f"admin:conversations_{what}_changelist")))
        assert "/export/" in shown
        assert ">Import" not in shown
        assert root.post(f"/admin/conversations/{what}/import/", {"format": "0"}).status_code in (
            302,
            403,
            404,
        )
        assert root.post(f"/admin/conversations/{what}/process_import/").status_code in (302, 403, 404)
