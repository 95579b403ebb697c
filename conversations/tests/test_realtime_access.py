"""Who gets to which call: the caller, another caller, a stranger; by cookie and by client secret."""

import asyncio
import base64
import json
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone
from websockets.exceptions import InvalidStatus

from conversations.models import Conversation
from conversations.tests.speech_events import Says
from conversations.tests.stored import api_key, change, rows
from conversations.tests.talking import ADMINISTRATOR, MANAGER, Person, talk

pytest_plugins = ("conversations.tests.deployment",)

CONTROLS = ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\r", "\x00"]


@pytest.fixture
async def mara(vocero):
    """Another caller, with a conversation of their own."""
    person = Person(vocero)
    await person.bootstrap(phone=MANAGER)
    return person


@pytest.fixture
async def key(vocero):
    return await api_key()


async def secret_for(person, key, phone=ADMINISTRATOR, **body):
    """The answer to an integrator's server that asks for a client secret."""
    headers = {"Authorization": f"Bearer {key}", "Cookie": ""}
    answer = await person.send("POST", "/v1/realtime/client_secrets", {"phone": phone, **body}, **headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def refusal(address, **door):
    """The error and the close code of a socket that is not let in, without what differs by chance."""
    async with talk(address, **door) as socket:
        error, code = await socket.error()
        assert len(socket.frames) == 1
        return error, code


# ---- the caller, another caller, a stranger


async def test_the_caller_is_let_in(vocero, ada, speech):
    async with ada.talks() as socket:
        ready = await socket.shown("vocero.conversation.ready")
    assert ready["conversation"]["id"] == ada.conversation


async def test_another_caller_s_conversation_looks_like_one_that_does_not_exist_case_170(
    vocero, ada, mara, speech
):
    foreign = await refusal(vocero, cookie=mara.cookie, conversation=ada.conversation)
    missing = await refusal(vocero, cookie=mara.cookie, conversation=uuid.uuid4())
    assert foreign == missing
    assert (foreign[0]["code"], foreign[1]) == ("conversation_not_found", 4404)
    assert speech.lines == []


@pytest.mark.parametrize("cookie", [None, "", "guessed", "ek_guessed", "x" * 3000, "%00"])
async def test_a_stranger_learns_nothing_whatever_they_bring_case_171_case_172(vocero, ada, cookie):
    known = await refusal(vocero, cookie=cookie, conversation=ada.conversation)
    unknown = await refusal(vocero, cookie=cookie, conversation=uuid.uuid4())
    assert known == unknown
    assert (known[0]["code"], known[1]) == ("not_authenticated", 4401)


@pytest.mark.parametrize(
    "conversation", [None, "..", "%27%20OR%201=1", "x" * 2000, "%00", "a&conversation=b"]
)
async def test_a_conversation_that_is_no_id_does_not_exist(vocero, ada, conversation):
    error, code = await refusal(vocero, cookie=ada.cookie, conversation=conversation)
    assert (error["code"], code) == ("conversation_not_found", 4404)


async def test_another_caller_s_socket_does_not_take_the_call_over_case_171(vocero, ada, mara, speech):
    speech.replies.append(Says("Hello Ada."))
    async with ada.talks() as socket:
        await socket.ready()
        await refusal(vocero, cookie=mara.cookie, conversation=ada.conversation)
        await refusal(vocero, conversation=ada.conversation)
        await socket.types("Hello?")
        await socket.shown("response.done")
        assert socket.text() == "Hello Ada."


async def test_what_one_caller_asks_never_reaches_another_s_session_case_170(vocero, ada, mara, speech):
    async with ada.talks() as first, mara.talks() as second:
        await first.ready()
        await second.ready()
        await first.types("My secret question.")
        item = (await first.shown("conversation.item.added"))["item"]
        await second.send("conversation.item.retrieve", item_id=item["id"])
        lines = [await speech.line(1), await speech.line(2)]
        asked = [line for line in lines if not line.sent_of("conversation.item.create")]
        await asked[0].asked("conversation.item.retrieve")
        assert "My secret question." not in second.everything()


async def test_a_closed_conversation_says_why_to_its_caller_only(vocero, ada, mara):
    await ada.cleans_up()
    error, code = await refusal(vocero, cookie=ada.cookie, conversation=ada.conversation)
    assert (error["code"], code) == ("caller_cleanup", 4410)
    assert (await refusal(vocero, cookie=mara.cookie, conversation=ada.conversation))[1] == 4404


# ---- client secrets


async def test_a_secret_opens_its_own_conversation_and_again_on_reconnect(vocero, ada, key, speech):
    made = await secret_for(ada, key)
    for _ in range(2):
        async with talk(vocero, secret=made["value"], origin=None) as socket:
            await socket.ready()
            assert [kind for kind in socket.kinds() if kind.startswith("vocero")] == []
    async with talk(vocero, secret=made["value"], events="vocero", origin=None) as socket:
        ready = await socket.shown("vocero.conversation.ready")
    assert ready["conversation"]["id"] == made["conversation"]["id"]
    assert ready["conversation"]["id"] != ada.conversation


async def test_a_secret_may_come_as_a_subprotocol(vocero, ada, key, speech):
    made = await secret_for(ada, key)
    offered = ["realtime", f"openai-insecure-api-key.{made['value']}", "openai-agents-sdk.0.20.0"]
    async with talk(vocero, subprotocols=offered, origin="https://shop.example") as socket:
        assert socket.subprotocol == "realtime"
        await socket.ready()
    async with talk(vocero, subprotocols=offered[1:]) as socket:
        assert socket.subprotocol is None
        await socket.ready()


async def test_a_secret_opens_nobody_else_s_conversation(vocero, ada, mara, key):
    made = await secret_for(ada, key)
    for other in (ada.conversation, mara.conversation, uuid.uuid4()):
        error, code = await refusal(vocero, secret=made["value"], conversation=other)
        assert (error["code"], code) == ("conversation_not_found", 4404)


@pytest.mark.parametrize("secret", ["ek_guessed", "guessed", "ek_", "x" * 3000])
async def test_a_wrong_secret_is_not_helped_by_a_good_cookie(vocero, ada, secret):
    error, code = await refusal(vocero, cookie=ada.cookie, secret=secret, conversation=ada.conversation)
    assert (error["code"], code) == ("not_authenticated", 4401)


async def test_an_api_key_is_no_secret(vocero, ada, key):
    assert (await refusal(vocero, secret=key))[1] == 4401


async def test_a_secret_is_no_cookie(vocero, ada, key):
    made = await secret_for(ada, key)
    door = {"cookie": made["value"], "conversation": made["conversation"]["id"]}
    assert (await refusal(vocero, **door))[1] == 4401


async def test_a_secret_ends_and_is_renewed_while_it_is_used(vocero, ada, key, speech, quick_heartbeat):
    made = await secret_for(ada, key, expires_after=30)
    async with talk(vocero, secret=made["value"]) as socket:
        await socket.ready()
    await change(Conversation, secret_expires_at=timezone.now() - timedelta(seconds=1))
    assert (await refusal(vocero, secret=made["value"]))[1] == 4401
    await change(Conversation, secret_expires_at=timezone.now() + timedelta(seconds=5))
    async with talk(vocero, secret=made["value"]) as socket:
        await socket.ready()
    (kept,) = await rows(Conversation, pk=made["conversation"]["id"])
    assert kept.secret_expires_at > timezone.now() + timedelta(minutes=9)


# ---- origins


async def status_of(address, **door):
    with pytest.raises(InvalidStatus) as refused:
        async with talk(address, **door):
            pass
    return refused.value.response.status_code


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "https://evil.example",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:1",
        "http://127.0.0.1",
        "http://localhost:{port}",
        "http://127.0.0.1:{port}.evil.example",
        "http://sub.127.0.0.1:{port}",
    ],
)
async def test_a_good_cookie_from_another_page_is_refused_before_accept_case_168_case_169(
    vocero, ada, speech, origin
):
    foreign = origin and origin.format(port=vocero.port)
    door = {"cookie": ada.cookie, "conversation": ada.conversation}
    assert await status_of(vocero, **door, origin=foreign) == 403
    assert speech.lines == []


async def test_both_servers_refuse_another_page_s_origin_before_accept_case_168(either, speech):
    person = Person(either)
    await person.bootstrap(phone=ADMINISTRATOR)
    door = {"cookie": person.cookie, "conversation": person.conversation}
    assert await status_of(either, **door, origin="https://evil.example") == 403
    assert await status_of(either, **door, origin=None) == 403
    async with talk(either, **door, origin=either.origin.upper().replace("HTTP", "http")) as socket:
        await socket.ready()


async def test_listed_origins_are_let_in_and_bind_secrets_too(vocero, ada, key, speech, configure):
    configure(allowed_origins=("https://shop.example",))
    async with talk(vocero, ada.cookie, ada.conversation, origin="https://shop.example") as socket:
        await socket.ready()
    made = await secret_for(ada, key)
    async with talk(vocero, secret=made["value"], origin="https://shop.example") as socket:
        await socket.ready()
    for origin in (None, "https://evil.example"):
        assert await status_of(vocero, secret=made["value"], origin=origin) == 403


async def test_a_refused_origin_is_logged_with_its_mend_case_195(vocero, ada, caplog):
    await status_of(vocero, cookie=ada.cookie, conversation=ada.conversation, origin="https://evil.example")
    (line,) = [record.msg for record in caplog.records if "socket.origin_refused" in str(record.msg)]
    assert line["origin"] == "https://evil.example"
    assert line["mend"] == "S2S_ALLOWED_ORIGINS"
    assert ada.cookie not in str(line)


async def test_a_forwarded_scheme_counts_only_behind_a_proxy(vocero, ada, speech, configure):
    secure = vocero.origin.replace("http://", "https://")
    door = {"cookie": ada.cookie, "conversation": ada.conversation, "origin": secure}
    forwarded = {"X-Forwarded-Proto": "https"}
    assert await status_of(vocero, **door, headers=forwarded) == 403
    configure(trusted_proxies=1)
    async with talk(vocero, **door, headers=forwarded) as socket:
        await socket.ready()


# ---- handshakes by hand


async def handshake(address, *lines, patience=20.0):
    """The status line of the answer to an upgrade of exactly these header lines; empty without one."""
    own = [
        "GET /v1/realtime HTTP/1.1",
        f"Host: 127.0.0.1:{address.port}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}",
    ]
    reader, writer = await asyncio.open_connection("127.0.0.1", address.port)
    try:
        writer.write("\r\n".join([*own, *lines, "", ""]).encode("latin-1"))
        async with asyncio.timeout(patience):
            return (await reader.readline()).decode("latin-1")
    except TimeoutError:
        return ""  # Some of these uvicorn reads and never answers; the application hears of none.
    finally:
        writer.close()


async def test_no_header_is_smuggled_in_another_case_184(either):
    person = Person(either)
    await person.bootstrap(phone=ADMINISTRATOR)
    cookie = f"Cookie: vocero_browser={person.cookie}"
    smuggled = [handshake(either, cookie, f"X: a{c}Origin: {either.origin}", patience=2) for c in CONTROLS]
    for control, answer in zip(CONTROLS, await asyncio.gather(*smuggled), strict=True):
        assert " 101 " not in answer, repr(control)
    assert " 101 " in await handshake(either, cookie, f"Origin: {either.origin}")


async def test_two_origins_are_no_origin_case_184(either):
    person = Person(either)
    await person.bootstrap(phone=ADMINISTRATOR)
    cookie = f"Cookie: vocero_browser={person.cookie}"
    for pair in ([either.origin, "https://evil.example"], ["https://evil.example", either.origin]):
        answer = await handshake(either, cookie, *[f"Origin: {origin}" for origin in pair])
        assert " 101 " not in answer


async def test_the_address_holds_no_credential_case_172(vocero, ada):
    body = (await ada.send("GET", f"/api/conversations/{ada.conversation}")).json()
    assert body["realtime_url"] == f"{vocero.socket}?conversation={ada.conversation}"
    assert ada.cookie not in json.dumps(body)
