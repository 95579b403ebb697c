"""Reading and cleaning up a conversation: the caller, another caller, a stranger."""

import uuid

import pytest

from conversations.identity import binding
from conversations.models import BackendToken, Conversation, ToolCall, Turn
from conversations.tests.login_server import ADMINISTRATOR, MANAGER
from conversations.tests.people import Integrator
from conversations.tests.rows import ADA, ago, changed, opened, running_call, running_turn
from tools.models import CatalogSnapshot

pytestmark = pytest.mark.django_db


@pytest.fixture
def hers(portal, caller):
    return caller.conversation(phone=ADMINISTRATOR)


@pytest.fixture
def another(portal, other):
    other.conversation(phone=MANAGER)
    return other


def path(conversation, tail=""):
    return f"/api/conversations/{conversation['id']}{tail}"


def told(response):
    assert response["Content-Type"] == "application/problem+json"
    return response.status_code, response.json()["code"]


def without_id(response):
    return {**response.json(), "request_id": ""}


def test_the_current_conversation_is_this_browsers(hers, caller, another, stranger):
    assert caller.get("/api/conversations/current").json() == hers
    assert another.get("/api/conversations/current").json()["id"] != hers["id"]
    assert told(stranger.get("/api/conversations/current")) == (404, "not_found")


def test_a_closed_or_expired_conversation_is_nobodys_current_one(hers, caller):
    changed(Conversation.objects.get(), last_seen_at=ago(hours=2))
    assert told(caller.get("/api/conversations/current")) == (404, "not_found")
    assert caller.get(path(hers)).json()["close_reason"] == "idle"


def test_the_owner_reads_it_with_its_finished_turns(hers, caller):
    assert caller.get(path(hers)).json() == {**hers, "turns": []}


def test_another_callers_conversation_is_exactly_like_a_missing_one(hers, another):
    missing = {"id": str(uuid.uuid4())}
    for method in ("GET", "DELETE"):
        foreign, absent = another.send(method, path(hers)), another.send(method, path(missing))
        assert told(foreign) == (404, "not_found")
        assert without_id(foreign) == without_id(absent)
        assert dict(foreign.headers, **{"X-Request-ID": ""}) == dict(absent.headers, **{"X-Request-ID": ""})
    assert Conversation.objects.get(pk=hers["id"]).state == "open"


@pytest.mark.parametrize("wrong", ["nonsense", "0", "' OR 1=1", "%00", "..%2f..", "current.json"])
def test_a_conversation_id_that_is_none_is_a_missing_conversation(hers, caller, wrong):
    assert told(caller.get(f"/api/conversations/{wrong}")) == (404, "not_found")


def test_a_stranger_learns_nothing_not_even_whether_it_exists(hers, stranger):
    for method in ("GET", "DELETE"):
        real, absent = stranger.send(method, path(hers)), stranger.send(method, path({"id": uuid.uuid4()}))
        assert told(real) == (401, "unauthorized")
        assert without_id(real) == without_id(absent)
    stranger.client.cookies[binding.COOKIE] = "made-up"
    assert told(stranger.get(path(hers))) == (401, "unauthorized")
    assert told(stranger.delete(path(hers))) == (401, "unauthorized")


def test_cleaning_up_closes_it_and_erases_the_token(hers, caller):
    response = caller.delete(path(hers))
    assert (response.status_code, response.content) == (204, b"")
    body = caller.get(path(hers)).json()
    assert (body["state"], body["close_reason"]) == ("closed", "caller_cleanup")
    assert BackendToken.objects.get().ciphertext == ""


def test_cleaning_up_twice_is_no_error_and_keeps_the_first_reason(hers, caller):
    changed(Conversation.objects.get(), state="closed", close_reason="operator")
    assert caller.delete(path(hers)).status_code == 204
    assert caller.delete(path(hers)).status_code == 204
    assert Conversation.objects.get().close_reason == "operator"


def test_cleaning_up_needs_the_pages_token_case_182(hers, caller):
    assert told(caller.delete(path(hers), forged=True)) == (403, "csrf_failed")
    assert told(caller.delete(path(hers), forged=True, **{"X-CSRFToken": "d" * 32})) == (403, "csrf_failed")
    assert Conversation.objects.get().state == "open"


def test_reading_needs_no_token(hers, caller):
    assert caller.get(path(hers), forged=True).status_code == 200


def test_after_a_cleanup_the_browser_starts_afresh(hers, caller):
    caller.delete(path(hers))
    assert told(caller.bootstrap()) == (401, "login_required")
    assert caller.conversation(phone=ADMINISTRATOR)["id"] != hers["id"]


def test_a_bad_bearer_is_not_saved_by_a_good_cookie(hers, caller):
    for bearer in ("ek_wrong", "vk_wrong", "", "ek_"):
        response = caller.get(path(hers), Authorization=f"Bearer {bearer}")
        assert told(response) == (401, "unauthorized")
        assert response["WWW-Authenticate"] == "Bearer"


def test_another_scheme_is_not_meant_for_us(hers, caller):
    assert caller.get(path(hers), Authorization="Basic dXNlcjpwYXNz").status_code == 200


def finished(conversation, index, caller_text="How many?", outcome="done"):
    turn = running_turn(conversation, index)
    Turn.objects.filter(pk=turn.pk).update(caller_text=caller_text, heard_text="Eight.", outcome=outcome)
    return turn


def test_finished_turns_are_told_as_heard_and_calls_without_what_went_in_or_out(hers, caller, configure):
    configure(
        tool_labels={"en": {"get_report": "Reading a report"}, "es": {"get_report": "Leyendo un informe"}}
    )
    conversation = Conversation.objects.get()
    second, first = finished(conversation, 2, "And now?", outcome="interrupted"), finished(conversation, 1)
    running_call(running_turn(conversation, 3))
    done = {"status": "completed", "duration_ms": 12, "sources": ["Cage four"]}
    for sequence, values in enumerate([done, {"status": "failed", "code": "forbidden"}], start=1):
        call = running_call(second, sequence)
        ToolCall.objects.filter(pk=call.pk).update(
            arguments={"request": "SECRET-ARGUMENT"}, excerpt="SECRET-RESULT", **values
        )
    response = caller.get(path(hers), **{"Accept-Language": "es-ES,en;q=0.5"})
    turns = response.json()["turns"]
    assert [(turn["index"], turn["outcome"]) for turn in turns] == [(1, "done"), (2, "interrupted")]
    assert turns[0] == {
        "index": 1,
        "origin": "voice",
        "caller_text": "How many?",
        "heard_text": "Eight.",
        "outcome": "done",
        "started_at": first.started_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "rating": None,
        "tools": [],
    }
    plain = {"name": "get_report", "label": "Leyendo un informe"}
    assert turns[1]["tools"] == [
        {**plain, **done, "code": None, "sources": [{"title": "Cage four"}]},
        {**plain, "status": "failed", "code": "forbidden", "duration_ms": None, "sources": []},
    ]
    assert "SECRET" not in response.content.decode()


@pytest.mark.parametrize(
    ("language", "label"),
    [
        ("en", "Reading a report"),
        ("de", "Reading a report"),
        ("", "Reading a report"),
        ("es", "Reading a report"),
    ],
)
def test_a_label_that_is_missing_in_a_language_is_told_in_english(hers, caller, configure, language, label):
    configure(tool_labels={"en": {"get_report": "Reading a report"}})
    call = running_call(finished(Conversation.objects.get(), 1))
    ToolCall.objects.filter(pk=call.pk).update(status="completed")
    turns = caller.get(path(hers), **{"Accept-Language": language}).json()["turns"]
    assert turns[0]["tools"][0]["label"] == label


def test_a_tool_without_a_label_is_told_by_its_name_in_words(hers, caller):
    call = running_call(finished(Conversation.objects.get(), 1))
    ToolCall.objects.filter(pk=call.pk).update(status="completed")
    assert caller.get(path(hers)).json()["turns"][0]["tools"][0]["label"] == "Get report"


def test_the_callers_catalog_is_counted_once_it_is_known(hers, caller):
    fingerprint = BackendToken.objects.get().fingerprint
    moment = ago(seconds=1)
    row = {"source": "mcp", "fetched_at": moment, "expires_at": moment}
    CatalogSnapshot.objects.create(caller_fingerprint="somebody-else", tools=[{}] * 9, **row)
    mine = CatalogSnapshot.objects.create(
        caller_fingerprint=fingerprint, tools=[{"name": "a"}, {"name": "b"}], **row
    )
    assert caller.get(path(hers)).json()["tools"] == {"count": 2, "error": None}
    CatalogSnapshot.objects.filter(pk=mine.pk).update(
        last_error="HTTP 500 from http://portal.internal: secret"
    )
    response = caller.get(path(hers))
    assert response.json()["tools"] == {"count": 2, "error": "unavailable"}
    assert "secret" not in response.content.decode()


def test_nothing_about_a_conversation_is_cached(hers, caller):
    for response in (caller.get(path(hers)), caller.get("/api/conversations/current"), caller.bootstrap()):
        assert response["Cache-Control"] == "no-store"


def test_a_conversation_of_an_integrator_is_not_any_browsers(another):
    conversation = opened(ADA, secret_hash=binding.digest("ek_x"))
    another.client.cookies[binding.COOKIE] = ""
    assert another.get(path({"id": conversation.pk})).status_code == 401
    assert (
        Integrator("ek_x").send("GET", path({"id": conversation.pk})).status_code == 401
    )  # no expiry, no good
