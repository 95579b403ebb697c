"""Client secrets: an integrator's server opens, its client talks, nobody else does either."""

import time
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import IntegrityError
from django.utils import timezone

from conversations import lifecycle
from conversations.identity import binding, keys, links
from conversations.identity.admission import Admission, admit_socket
from conversations.models import Conversation
from conversations.tests.login_server import ADMINISTRATOR, MANAGER, UNKNOWN
from conversations.tests.people import Integrator
from conversations.tests.rows import ADA, ago, changed, opened

pytestmark = pytest.mark.django_db
PATH = "/v1/realtime/client_secrets"


@pytest.fixture
def shop(portal, configure):
    configure(unsafe_phone_selector=False)
    return Integrator(keys.make("shop").text)


def order(integrator, **body):
    return integrator.send("POST", PATH, body)


def granted(integrator, **body):
    response = order(integrator, **body)
    assert response.status_code == 200, response.content
    return response.json()


def told(response):
    assert response["Content-Type"] == "application/problem+json"
    return response.status_code, response.json()["code"]


def test_a_key_opens_a_conversation_for_a_phone_without_the_unsafe_switch(shop):
    answer = granted(shop, phone=ADMINISTRATOR)
    assert answer["value"].startswith("ek_")
    assert len(answer["value"]) >= 3 + 43
    assert answer["conversation"]["caller"] == {"name": "Ada Admin"}
    assert abs(answer["expires_at"] - time.time() - 600) < 30
    assert "backend-token" not in str(answer)


def test_only_the_secrets_hash_is_kept(shop):
    value = granted(shop, phone=ADMINISTRATOR)["value"]
    row = Conversation.objects.values().get()
    assert row["secret_hash"] == binding.digest(value)
    assert value not in str(row)
    assert row["browser_hash"] == ""


def test_a_secret_opens_its_conversation_and_no_other(shop):
    mine, theirs = granted(shop, phone=ADMINISTRATOR), granted(shop, phone=MANAGER)
    client = Integrator(mine["value"])
    assert client.send("GET", f"/api/conversations/{mine['conversation']['id']}").status_code == 200
    assert told(client.send("GET", f"/api/conversations/{theirs['conversation']['id']}")) == (
        404,
        "not_found",
    )
    assert told(client.send("DELETE", f"/api/conversations/{theirs['conversation']['id']}")) == (
        404,
        "not_found",
    )
    assert admit_socket(None, None, mine["value"]) == Admission(mine["conversation"]["id"], "secret")


def test_a_secrets_holder_needs_no_csrf_token_to_clean_up_twice(shop):
    mine = granted(shop, phone=ADMINISTRATOR)
    client, path = Integrator(mine["value"]), f"/api/conversations/{mine['conversation']['id']}"
    assert client.send("DELETE", path).status_code == 204
    assert client.send("DELETE", path).status_code == 204
    assert client.send("GET", path).json()["close_reason"] == "caller_cleanup"


def test_beside_a_secret_cookies_are_ignored(shop, portal, configure, caller):
    configure(unsafe_phone_selector=True)
    hers = caller.conversation(phone=MANAGER)
    mine = granted(shop, phone=ADMINISTRATOR)
    bearer = {"Authorization": f"Bearer {mine['value']}"}
    assert told(caller.get(f"/api/conversations/{hers['id']}", **bearer)) == (404, "not_found")
    assert (
        caller.delete(f"/api/conversations/{mine['conversation']['id']}", forged=True, **bearer).status_code
        == 204
    )


def test_an_expired_secret_is_no_good_until_a_call_renewed_it(shop):
    mine = granted(shop, phone=ADMINISTRATOR, expires_after={"anchor": "created_at", "seconds": 30})
    client, path = Integrator(mine["value"]), f"/api/conversations/{mine['conversation']['id']}"
    assert abs(mine["expires_at"] - time.time() - 30) < 15
    claim = lifecycle.claim(mine["conversation"]["id"], "process-a")
    changed(Conversation.objects.get(), secret_expires_at=ago(seconds=1))
    assert told(client.send("GET", path)) == (401, "unauthorized")
    lifecycle.heartbeat(mine["conversation"]["id"], "process-a", claim.generation, active=False)
    assert client.send("GET", path).status_code == 200


def test_seconds_alone_are_an_expiry_too(shop):
    assert abs(granted(shop, phone=ADMINISTRATOR, expires_after=3600)["expires_at"] - time.time() - 3600) < 30


def test_orders_for_one_caller_are_conversations_of_their_own(shop):
    first, second = granted(shop, phone=ADMINISTRATOR), granted(shop, phone=ADMINISTRATOR)
    assert first["conversation"]["id"] != second["conversation"]["id"]
    assert Conversation.objects.filter(state="open").count() == 2


def test_a_link_serves_an_integrator_once(shop):
    link = parse_qs(urlsplit(links.issue(ADMINISTRATOR).address).query)["link"][0]
    assert granted(shop, link=link)["conversation"]["caller"] == {"name": "Ada Admin"}
    assert told(order(shop, link=link)) == (410, "link_used")


def test_nobody_in_particular_is_let_in_where_no_login_is_needed(shop, configure):
    assert told(order(shop)) == (401, "login_required")
    configure(mcp_url="")
    assert granted(shop)["conversation"]["caller"] is None


def test_an_unknown_phone_is_rejected(shop):
    assert told(order(shop, phone=UNKNOWN)) == (401, "login_rejected")
    assert not Conversation.objects.exists()


@pytest.mark.parametrize("bearer", ["", "vk_wrong", "ek_wrong", "x"])
def test_without_a_key_nothing_is_opened(portal, bearer):
    assert told(order(Integrator(bearer), phone=ADMINISTRATOR)) == (401, "unauthorized")
    assert portal.seen == []


def test_a_browser_is_no_integrator(portal, caller):
    caller.conversation(phone=ADMINISTRATOR)
    assert told(caller.post(PATH, {"phone": MANAGER})) == (401, "unauthorized")


def test_a_revoked_key_opens_nothing(shop):
    keys.revoke("shop")
    assert told(order(shop, phone=ADMINISTRATOR)) == (401, "unauthorized")


def test_browser_tools_and_the_session_are_kept_for_the_call(shop, configure):
    configure(browser_tools=("web_search",))
    session = {"type": "realtime", "audio": {"output": {"voice": "ash"}}, "note": "a\u0000b"}
    granted(shop, phone=ADMINISTRATOR, browser_tools=["open_map"], session=session)
    row = Conversation.objects.get()
    assert row.browser_tools == ["open_map"]
    assert row.session == {**session, "note": "a\ufffdb"}
    granted(shop, phone=ADMINISTRATOR, browser_tools=[])
    granted(shop, phone=ADMINISTRATOR)
    kept = Conversation.objects.order_by("opened_at").values_list("browser_tools", flat=True)
    assert list(kept) == [["open_map"], [], ["web_search"]]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"browser_tools": ["no spaces"]}, "/browser_tools/0"),
        ({"browser_tools": ["t"] * 33}, "/browser_tools"),
        ({"browser_tools": "web_search"}, "/browser_tools"),
        ({"session": []}, "/session"),
        ({"phone": ADMINISTRATOR, "token": "x"}, "/token"),
    ],
)
def test_an_order_that_cannot_be_used_names_the_field(shop, body, pointer):
    response = order(shop, **body)
    assert told(response) == (400, "invalid")
    assert response.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize("wrong", [5, 99_999, {"seconds": 5}, {"seconds": 60, "anchor": "x"}, "60", True])
def test_an_expiry_out_of_bounds_is_refused(shop, wrong):
    assert told(order(shop, phone=ADMINISTRATOR, expires_after=wrong)) == (400, "invalid")


@pytest.mark.usefixtures("one_minute")
def test_a_key_has_a_rate_of_its_own(shop, configure):
    configure(rate_secrets=1, rate_bootstrap=100)
    granted(shop, phone=ADMINISTRATOR)
    response = order(shop, phone=ADMINISTRATOR)
    assert told(response) == (429, "rate_limited")
    assert int(response["Retry-After"]) >= 1
    assert granted(Integrator(keys.make("store").text), phone=ADMINISTRATOR)


def test_a_closed_conversations_secret_opens_no_socket(shop):
    mine = granted(shop, phone=ADMINISTRATOR)
    lifecycle.close(mine["conversation"]["id"], "operator")
    assert admit_socket(None, None, mine["value"]).close_code == 4410


def test_two_conversations_never_share_a_secret():
    soon = timezone.now() + timedelta(minutes=1)
    opened(ADA, secret_hash="same", secret_expires_at=soon)
    with pytest.raises(IntegrityError):
        opened(ADA, secret_hash="same", secret_expires_at=soon)
