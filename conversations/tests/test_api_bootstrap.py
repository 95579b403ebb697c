"""`POST /api/conversations`: how a browser gets its conversation."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from conversations.identity import binding, links
from conversations.models import BackendToken, Conversation, PhoneLink
from conversations.tests.login_server import ADMINISTRATOR, MANAGER, UNKNOWN
from conversations.tests.people import Browser
from conversations.tests.rows import ago

pytestmark = pytest.mark.django_db


def link_for(phone=ADMINISTRATOR):
    return parse_qs(urlsplit(links.issue(phone).address).query)["link"][0]


def told(response):
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == response.status_code
    return response.status_code, body["code"]


def states():
    return sorted(Conversation.objects.values_list("state", "close_reason"))


def test_a_phone_opens_a_conversation_and_binds_the_browser(portal, caller):
    response = caller.bootstrap(phone=ADMINISTRATOR)
    body = response.json()
    assert response.status_code == 201
    assert response["Location"] == f"/api/conversations/{body['id']}"
    assert (body["state"], body["close_reason"], body["caller"]) == ("open", None, {"name": "Ada Admin"})
    assert body["realtime_url"] == f"ws://testserver/v1/realtime?conversation={body['id']}"
    assert body["tools"] == {"count": None, "error": None}
    assert set(body) == {"id", "state", "close_reason", "caller", "expires_at", "realtime_url", "tools"}


def test_the_cookie_is_out_of_scripts_reach_and_only_its_hash_is_kept(portal, caller):
    response = caller.bootstrap(phone=ADMINISTRATOR)
    cookie = response.cookies[binding.COOKIE]
    assert (cookie["httponly"], cookie["samesite"], cookie["secure"], cookie["path"]) == (
        True,
        "Lax",
        "",
        "/",
    )
    row = Conversation.objects.get()
    assert row.browser_hash == binding.digest(cookie.value)
    assert cookie.value not in response.content.decode()


@pytest.mark.parametrize("how", ["https request", "https public address"])
def test_the_cookie_is_secure_where_https_is_spoken(portal, configure, how):
    browser = Browser()
    if how == "https public address":
        configure(public_url="https://talk.example")
        response = browser.bootstrap(phone=ADMINISTRATOR)
        assert response.json()["realtime_url"].startswith("wss://talk.example/v1/realtime?")
    else:
        response = browser.client.post(
            "/api/conversations",
            {"phone": ADMINISTRATOR},
            "application/json",
            secure=True,
            headers={"X-CSRFToken": "c" * 32, "Referer": "https://testserver/"},
        )
    assert response.cookies[binding.COOKIE]["secure"] is True


def test_nothing_about_the_backend_reaches_the_browser(portal, caller):
    response = caller.bootstrap(phone=ADMINISTRATOR)
    everything = response.content.decode() + str(response.headers) + str(response.cookies)
    for secret in (portal.tokens[0], "u-1", ADMINISTRATOR, "600000001"):
        assert secret not in everything


def test_a_phone_is_normalised_before_it_logs_in(portal, caller):
    caller.conversation(phone=" 34 600-000-001")
    assert portal.seen[0]["body"] == {"phone": ADMINISTRATOR}


def test_an_empty_body_resumes_this_browsers_conversation(portal, caller):
    opened = caller.conversation(phone=ADMINISTRATOR)
    response = caller.bootstrap()
    assert (response.status_code, response.json()["id"]) == (200, opened["id"])
    assert binding.COOKIE not in response.cookies


def test_the_same_caller_again_goes_on_with_the_open_conversation(portal, caller):
    opened = caller.conversation(phone=ADMINISTRATOR)
    response = caller.bootstrap(phone=ADMINISTRATOR)
    assert (response.status_code, response.json()["id"]) == (200, opened["id"])
    assert states() == [("open", "")]


def test_another_caller_supersedes_and_rebinds_the_browser_case_183(portal, caller):
    first = caller.conversation(phone=ADMINISTRATOR)
    old_cookie = caller.cookie
    second = caller.conversation(phone=MANAGER)
    assert second["id"] != first["id"]
    assert caller.cookie != old_cookie
    assert states() == [("closed", "superseded"), ("open", "")]
    assert BackendToken.objects.exclude(ciphertext="").count() == 1
    left_behind = Browser()
    left_behind.client.cookies[binding.COOKIE] = old_cookie
    assert told(left_behind.get(f"/api/conversations/{second['id']}")) == (404, "not_found")


def test_without_a_login_aquaportal_asks_for_one(portal, stranger):
    assert told(stranger.bootstrap()) == (401, "login_required")


def test_a_plain_relay_lets_anybody_talk_and_resume(stranger, other):
    opened = stranger.conversation()
    assert opened["caller"] is None
    assert stranger.conversation()["id"] == opened["id"]
    assert other.conversation()["id"] != opened["id"]


def test_a_planted_cookie_opens_nothing_of_the_victims_conversation(portal, caller, other):
    other.conversation(phone=MANAGER)
    planted = other.cookie
    caller.client.cookies[binding.COOKIE] = planted
    victims = caller.conversation(phone=ADMINISTRATOR)
    other.client.cookies[binding.COOKIE] = planted
    assert told(other.get(f"/api/conversations/{victims['id']}")) == (404, "not_found")


@pytest.mark.parametrize("cookie", ["", "unknown", "x" * 3000])
def test_an_unknown_cookie_is_replaced(portal, caller, cookie):
    caller.client.cookies[binding.COOKIE] = cookie
    assert caller.bootstrap(phone=ADMINISTRATOR).status_code == 201
    assert caller.cookie != cookie


def test_an_unknown_phone_is_rejected_in_our_own_words(portal, caller):
    response = caller.bootstrap(phone=UNKNOWN)
    assert told(response) == (401, "login_rejected")
    assert "token-of-nobody" not in response.content.decode()
    assert not Conversation.objects.exists()


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (500, b"Traceback: secret", (503, "backend_unavailable")),
        (200, {"sessionToken": "token-0123456789", "user": {"id": "u-1"}}, (502, "backend_contract")),
        (302, b"", (502, "backend_contract")),
    ],
)
def test_a_backend_that_misbehaves_costs_nothing_that_was_there(portal, caller, status, body, code):
    caller.conversation(phone=ADMINISTRATOR)
    before = caller.cookie
    portal.answer_with(status, body)
    response = caller.bootstrap(phone=MANAGER)
    assert told(response) == code
    assert "Traceback" not in response.content.decode()
    assert (caller.cookie, states()) == (before, [("open", "")])
    assert BackendToken.objects.exclude(ciphertext="").count() == 1


def test_the_phone_selector_is_off_unless_switched_on(portal, configure, caller):
    configure(unsafe_phone_selector=False)
    assert told(caller.bootstrap(phone=ADMINISTRATOR)) == (403, "unsafe_phone_disabled")
    assert portal.seen == []


def test_a_link_opens_once_and_goes_on_for_its_browser(portal, configure, caller, other):
    configure(unsafe_phone_selector=False)
    link = link_for()
    opened = caller.conversation(link=link)
    again = caller.bootstrap(link=link)
    assert (again.status_code, again.json()["id"]) == (200, opened["id"])
    assert told(other.bootstrap(link=link)) == (410, "link_used")
    assert caller.conversation()["id"] == opened["id"]


def test_a_used_link_does_not_come_back_after_its_conversation(portal, caller):
    link = link_for()
    caller.delete(f"/api/conversations/{caller.conversation(link=link)['id']}")
    assert told(caller.bootstrap(link=link)) == (410, "link_used")


def test_a_used_link_whose_conversation_expired_is_used(portal, caller):
    link = link_for()
    caller.conversation(link=link)
    Conversation.objects.update(expires_at=ago(seconds=1))
    assert told(caller.bootstrap(link=link)) == (410, "link_used")


def test_an_expired_link_says_so(portal, caller):
    link = link_for()
    PhoneLink.objects.update(expires_at=ago(seconds=1))
    assert told(caller.bootstrap(link=link)) == (410, "link_expired")


def test_a_failed_login_leaves_the_link_good(portal, caller):
    link = link_for()
    portal.answer_with(503)
    assert told(caller.bootstrap(link=link)) == (503, "backend_unavailable")
    portal._next = None
    assert caller.bootstrap(link=link).status_code == 201


def test_a_link_for_the_caller_who_is_here_is_used_up_and_resumes(portal, caller, other):
    opened = caller.conversation(phone=ADMINISTRATOR)
    link = link_for()
    assert caller.conversation(link=link)["id"] == opened["id"]
    assert told(other.bootstrap(link=link)) == (410, "link_used")
    assert caller.conversation(link=link)["id"] == opened["id"]


def test_a_link_for_another_caller_supersedes(portal, caller):
    caller.conversation(phone=ADMINISTRATOR)
    caller.conversation(link=link_for(MANAGER))
    assert states() == [("closed", "superseded"), ("open", "")]


@pytest.mark.parametrize("cookies", [True, False])
def test_another_sites_form_opens_nothing_case_182(portal, caller, cookies):
    if cookies:
        caller.conversation(phone=MANAGER)
    before = states()
    body = f'{{"phone": "{ADMINISTRATOR}"}}'.encode()
    for kind in (
        "application/json",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ):
        response = caller.client.generic("POST", "/api/conversations", body, kind)
        assert told(response) == (403, "csrf_failed")
    assert states() == before


def test_the_csrf_token_of_before_a_login_still_counts_after_it_case_183(portal, caller):
    caller.conversation(phone=ADMINISTRATOR)
    identity = caller.conversation(phone=MANAGER)["id"]
    assert caller.delete(f"/api/conversations/{identity}").status_code == 204


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"phone": "not a phone"}, "/phone"),
        ({"phone": 34600000001}, "/phone"),
        ({"phone": ""}, "/phone"),
        ({"link": ""}, "/link"),
        ({"link": "x" * 301}, "/link"),
        ({"link": ["x"]}, "/link"),
        ({"link": "x", "phone": ADMINISTRATOR}, ""),
        ({"episode_id": "e" * 101}, "/episode_id"),
        ({"episode_id": "a\u0000b"}, "/episode_id"),
        ({"user_id": "u-2"}, "/user_id"),
        ({"a/b~c": 1}, "/a~1b~0c"),
    ],
)
def test_a_body_that_cannot_be_used_names_the_field(portal, caller, body, pointer):
    response = caller.post("/api/conversations", body)
    assert told(response) == (400, "invalid")
    assert [fault["pointer"] for fault in response.json()["errors"]] == [pointer]
    assert all(fault["code"] and fault["detail"] for fault in response.json()["errors"])


def test_a_refused_value_is_not_repeated(portal, caller):
    assert "SECRET" not in caller.bootstrap(phone="SECRET", link="x" * 301).content.decode()


def test_null_is_nothing(portal, caller):
    assert caller.bootstrap(phone=ADMINISTRATOR, link=None).status_code == 201


def test_an_episode_is_kept(portal, caller):
    caller.conversation(phone=ADMINISTRATOR, episode_id="ep-7")
    assert Conversation.objects.get().episode_id == "ep-7"


@pytest.mark.usefixtures("one_minute")
def test_too_many_attempts_are_told_when_to_come_back(portal, configure, caller, other):
    configure(rate_bootstrap=2)
    caller.bootstrap(phone=ADMINISTRATOR)
    caller.bootstrap(phone=ADMINISTRATOR)
    response = caller.bootstrap(phone=ADMINISTRATOR)
    assert told(response) == (429, "rate_limited")
    assert 1 <= int(response["Retry-After"]) <= 60
    assert told(other.bootstrap(phone=ADMINISTRATOR)) == (429, "rate_limited")
    assert len(portal.seen) == 2


def test_reloading_is_no_attempt(portal, configure, caller):
    configure(rate_bootstrap=1)
    caller.conversation(phone=ADMINISTRATOR)
    assert [caller.bootstrap().status_code for _ in range(3)] == [200, 200, 200]


@pytest.mark.usefixtures("one_minute")
def test_strangers_who_name_nobody_are_limited_too(portal, configure, stranger):
    configure(rate_bootstrap=1)
    assert told(stranger.bootstrap()) == (401, "login_required")
    assert told(stranger.bootstrap()) == (429, "rate_limited")


@pytest.mark.usefixtures("one_minute")
def test_one_caller_is_limited_from_many_addresses(portal, configure):
    configure(rate_bootstrap=2, trusted_proxies=1)

    def attempt(number, phone):
        return Browser().post(
            "/api/conversations", {"phone": phone}, **{"X-Forwarded-For": f"10.0.0.{number}"}
        )

    codes = [attempt(number, ADMINISTRATOR).status_code for number in range(3)]
    assert codes == [201, 201, 429]
    assert attempt(9, MANAGER).status_code == 201


@pytest.mark.usefixtures("one_minute")
def test_a_forwarded_address_is_not_believed_without_a_proxy(portal, configure, caller):
    configure(rate_bootstrap=1)
    codes = [
        caller.post(
            "/api/conversations", {"phone": UNKNOWN}, **{"X-Forwarded-For": f"10.0.0.{n}"}
        ).status_code
        for n in range(2)
    ]
    assert codes == [401, 429]


def test_at_capacity_newcomers_wait_and_those_inside_stay(portal, configure, caller, other):
    configure(max_conversations=1)
    caller.conversation(phone=ADMINISTRATOR)
    response = other.bootstrap(phone=MANAGER)
    assert told(response) == (429, "rate_limited")
    assert int(response["Retry-After"]) == 30
    assert caller.bootstrap().status_code == 200


def test_a_link_lives_as_long_as_it_was_made_for(portal, caller):
    address = links.issue(ADMINISTRATOR, timedelta(minutes=1)).address
    assert caller.bootstrap(link=parse_qs(urlsplit(address).query)["link"][0]).status_code == 201
