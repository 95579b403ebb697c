"""No body is read further than its limit."""

import json

import pytest

from conversations.api.bodies import bounded

LIMIT = 10


class Exchange:
    """One request over ASGI, in the chunks given; remembers what the application got and the client heard."""

    def __init__(self, *chunks, length=None):
        self.scope = {"type": "http", "headers": [(b"content-length", length)] if length else []}
        self.chunks, self.got, self.sent = list(chunks), [], []

    async def receive(self):
        body = self.chunks.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(self.chunks)}

    async def send(self, message):
        self.sent.append(message)

    async def app(self, scope, receive, send):
        """Reads the whole body before it answers, as Django does, and answers nobody who went away."""
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            self.got.append(message["body"])
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def run(self):
        await bounded(self.app, LIMIT)(self.scope, self.receive, self.send)
        return self.sent[0]["status"]


@pytest.mark.parametrize("chunks", [(b"",), (b"x" * LIMIT,), (b"x" * 4, b"", b"x" * 6)])
async def test_a_body_up_to_the_limit_passes(chunks):
    exchange = Exchange(*chunks)
    assert await exchange.run() == 200
    assert b"".join(exchange.got) == b"".join(chunks)


async def test_a_body_that_declares_too_much_is_not_read_at_all():
    exchange = Exchange(b"x", length=b"11")
    assert await exchange.run() == 413
    assert exchange.got == []
    assert len(exchange.chunks) == 1


async def test_a_body_that_grows_too_large_is_cut_off_and_told():
    exchange = Exchange(*[b"x" * 4] * 1000)
    assert await exchange.run() == 413
    assert len(exchange.got) == 2
    problem = json.loads(exchange.sent[1]["body"])
    assert (problem["code"], problem["status"], bool(problem["request_id"])) == ("too_large", 413, True)
    assert (b"content-type", b"application/problem+json") in exchange.sent[0]["headers"]


@pytest.mark.parametrize("length", [b"-1", b"many", b""])
async def test_a_declaration_that_says_nothing_counts_for_nothing(length):
    exchange = Exchange(b"x" * 20, length=length)
    assert await exchange.run() == 413


async def test_an_answer_that_began_is_left_alone():
    exchange = Exchange(*[b"x" * 6] * 5)

    async def hasty(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while (await receive())["type"] != "http.disconnect":
            pass

    await bounded(hasty, LIMIT)(exchange.scope, exchange.receive, exchange.send)
    assert [message["type"] for message in exchange.sent] == ["http.response.start"]


async def test_other_protocols_are_not_looked_at():
    seen = []

    async def app(scope, receive, send):
        seen.append((scope, receive, send))

    scope = {"type": "websocket"}
    await bounded(app, LIMIT)(scope, "receive", "send")
    assert seen == [(scope, "receive", "send")]
