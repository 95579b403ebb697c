"""What clients try at the real socket: many at once, none that speaks, and those that are not let in."""

import asyncio
import importlib.metadata
from contextlib import AsyncExitStack

import pytest

from conversations.models import Conversation
from conversations.realtime import consumers
from conversations.tests import stored
from conversations.tests.serving import ROOT
from conversations.tests.speech_events import Says
from conversations.tests.talking import MANAGER, eventually, talk

pytest_plugins = ("conversations.tests.deployment",)

SOCKETS = 8


async def test_of_many_sockets_at_once_one_has_the_call_and_the_others_are_told(vocero, ada, speech, caplog):
    speech.replies.append(Says("Hello."))
    async with AsyncExitStack() as stack:
        sockets = await asyncio.gather(*(stack.enter_async_context(ada.talks()) for _ in range(SOCKETS)))

        async def one_is_left():
            return sum(socket.ended for socket in sockets) == SOCKETS - 1

        await eventually(one_is_left)
        (winner,) = [socket for socket in sockets if not socket.ended]
        for socket in sockets:
            if socket is not winner:
                error, code = await socket.error()
                assert (error["code"], code) == ("taken_over", 4409)
        await winner.types("Hello?")
        await winner.shown("response.done")
        assert winner.text() == "Hello."

        async def one_line_is_left():
            return sum(not line.closed.is_set() for line in speech.lines) == 1

        await eventually(one_line_is_left)
    await eventually(lambda: stored.rows(Conversation, owner="", state="open"))
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_sockets_that_say_nothing_keep_nobody_from_talking(vocero, ada, speech):
    """Half a handshake, and connections that never say a word."""
    silent = [await asyncio.open_connection("127.0.0.1", vocero.port) for _ in range(30)]
    for _, writer in silent[:15]:
        writer.write(b"GET /v1/realtime HTTP/1.1\r\nUpgrade: websocket\r\n")
    speech.replies.append(Says("Hello."))
    try:
        async with ada.talks() as talking:
            await talking.ready()
            await talking.types("Hello?")
            await talking.shown("response.done")
            assert talking.text() == "Hello."
    finally:
        for _, writer in silent:
            writer.close()


async def test_the_cookie_of_before_another_login_opens_neither_conversation_case_183(vocero, ada):
    old_cookie, old = ada.cookie, ada.conversation
    await ada.bootstrap(phone=MANAGER)
    for conversation in (old, ada.conversation):
        async with talk(vocero, old_cookie, conversation) as socket:
            error, code = await socket.error()
        assert code in (4401, 4404, 4410)
        assert error["message"]
        assert code == 4410 or conversation != old, "its own caller is told why"


async def test_a_socket_that_is_not_let_in_leaves_a_line_for_the_operator_case_170(vocero, ada, caplog):
    stranger = "%0Ax" * 200
    async with talk(vocero, ada.cookie, stranger) as socket:
        await socket.closed()
    (line,) = [record.msg for record in caplog.records if "socket.refused" in str(record.msg)]
    assert (line["code"], len(line["conversation"])) == (4404, 64)
    assert ada.cookie not in str(line)


def test_a_header_that_comes_twice_hides_none_of_its_values_case_184():
    """The pinned servers refuse two origins themselves; another may hand them both on."""
    twice = [(b"Origin", b"https://evil.example"), (b"origin", b"https://app.test"), (b"cookie", b"a=1")]
    read = consumers._headers({"headers": [*twice, (b"cookie", b"b=2")]})
    assert read == {"origin": "https://evil.example, https://app.test", "cookie": "a=1; b=2"}


@pytest.mark.parametrize("server", ["daphne", "autobahn", "uvicorn", "websockets"])
def test_the_servers_that_read_handshakes_are_the_pinned_ones_case_184(server):
    pinned = (ROOT / "requirements.txt").read_text().splitlines()
    assert f"{server}=={importlib.metadata.version(server)}" in [line.strip() for line in pinned]
