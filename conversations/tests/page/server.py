"""A stand-in for the server of the voice client page: HTTP on loopback, and the socket's side of a test."""

import base64
import contextlib
import functools
import json
import math
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from typing import Self

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils import translation
from playwright.sync_api import Page

from conversations.suggestions import MOST, QUESTIONS
from conversations.views import catalog
from vocero.policy import PAGES

RATE = 24000
CONVERSATION = {
    "id": "11111111-1111-4111-8111-111111111111",
    "state": "open",
    "close_reason": None,
    "caller": {"name": "Ana Torres"},
    "expires_at": "2030-01-01T00:00:00Z",
    "realtime_url": "",
    "tools": {"count": None, "error": None},
}
BOOT = {
    "link": None,
    "phone": None,
    "unsafe_phone_selector": False,
    "demo_callers": [],
    "demo_badge": "",
    "worklets": {
        "capture": "/static/conversations/audio/capture-worklet.js",
        "playback": "/static/conversations/audio/playback-worklet.js",
    },
    "mode": "mcp",
    "realtime_path": "/v1/realtime",
    "web_search": False,
    "reasoning": False,
    "csrf_cookie": "csrftoken",
}
POLICY = "; ".join(f"{name} {' '.join(sources)}" for name, sources in PAGES.items())


class PageServer:
    """What the page is told over HTTP; `answers` to the next bootstraps are
    (status, body, headers), `reasoning` are the events of the next answers over HTTP."""

    def __init__(self) -> None:
        self.boot = dict(BOOT)
        self.conversation = dict(CONVERSATION)
        self.turns = []
        self.tools = []
        self.suggestions = [*QUESTIONS["en"].values()][:MOST]
        self.labels = {}
        self.ratings = []
        self.rating_status = 200
        self.answers = []
        self.reasoning = []
        self.questions = []
        self.messages = []
        self.bootstraps = []
        self.requests = []
        self.words = {}
        handler = functools.partial(_Handler, self)
        self._http = _Http(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self._http.server_port}"

    def word(self, text):
        """What this conversation says for it; it may be held in another language."""
        return self.words.get(text, text)

    @contextlib.contextmanager
    def running(self) -> Iterator[Self]:
        thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()


class _Http(ThreadingHTTPServer):
    """A page asks for all of its files at once."""

    request_queue_size = 128


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, page, *arguments):
        self.page = page
        super().__init__(*arguments)

    def log_message(self, *_arguments):
        """A test that fails says why by itself."""

    def do_GET(self):
        path = self.path.partition("?")[0]
        self.page.requests.append(path)
        if path == "/":
            with translation.override(self.headers.get("Accept-Language", "en")[:2]):
                boot = {**self.page.boot, "language": translation.get_language(), "catalog": catalog()}
                html = render_to_string("conversations/page.html", {"boot": boot}).encode()
            self.answer(200, html, "text/html", {"Set-Cookie": "csrftoken=csrf-of-the-page; Path=/"})
        elif path.startswith("/static/"):
            self.static(path.removeprefix("/static/"))
        elif path == "/api/apipilot/tools":
            tools = {"tools": self.page.tools, "count": len(self.page.tools), "include_unauthorized": False}
            self.json(200, {"success": True, "data": tools, "error": None})
        elif path == f"/api/conversations/{self.page.conversation['id']}":
            self.json(200, {**self.page.conversation, "turns": self.page.turns})
        elif path == f"/api/conversations/{self.page.conversation['id']}/suggestions":
            questions = [{"text": text} for text in self.page.suggestions]
            self.json(200, {"suggestions": questions, "labels": self.page.labels})
        else:
            self.json(404, {"code": "not_found", "request_id": "req-404"})

    def do_PUT(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.headers.get("X-CSRFToken") == "csrf-of-the-page"
        self.page.ratings.append((self.path, body))
        self.json(self.page.rating_status, {"code": "not_found", "request_id": "a1b2c3d4e5"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers.get("X-CSRFToken") != "csrf-of-the-page":
            self.json(403, {"code": "csrf_failed"})
            return
        if self.path == "/api/reasoning":
            self.page.questions.append((self.headers.get("X-Vocero-Conversation"), body["text"]))
            events = "".join(f"data: {json.dumps(event)}\n\n" for event in self.page.reasoning.pop(0))
            self.answer(200, events.encode(), "text/event-stream")
            return
        if self.path.endswith("/messages"):
            self.page.messages.append(body)
            self.answer(202, b"", "application/json")
            return
        self.page.bootstraps.append(body)
        planned = self.page.answers.pop(0) if self.page.answers else (201, self.page.conversation, {})
        self.json(*planned)

    def static(self, name):
        found = finders.find(name)
        if not found:
            self.json(404, {})
            return
        with open(found, "rb") as file:  # noqa: PTH123 - a finder gives text
            self.answer(200, file.read(), guess_type(name)[0] or "text/plain")

    def json(self, status, body, headers=None):
        self.answer(status, json.dumps(body).encode(), "application/json", headers)

    def answer(self, status, body, kind, headers=None):
        self.send_response(status)
        own = {"Content-Type": kind, "Content-Length": str(len(body)), "Content-Security-Policy": POLICY}
        for name, value in {**own, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Line:
    """The server's side of the page's sockets, newest last; without `greets` they open and stay silent."""

    def __init__(self, page: Page) -> None:
        self.sockets = []
        self.received = []
        self.greets = True
        page.route_web_socket("**/v1/realtime*", self._accept)

    def _accept(self, socket):
        self.sockets.append(socket)
        socket.on_message(lambda frame: self.received.append(json.loads(frame)))
        if self.greets:
            self.ready()

    def ready(self):
        self.send("session.created", session={})
        about = {"id": CONVERSATION["id"], "caller": CONVERSATION["caller"], "expires_at": None}
        self.send(
            "vocero.conversation.ready",
            protocol_version=1,
            conversation=about,
            tools={"count": 8, "error": None},
        )

    def send(self, kind, **fields):
        self.sockets[-1].send(json.dumps({"type": kind, **fields}))

    def close(self, code, reason=""):
        self.sockets[-1].close(code=code, reason=reason)

    def of(self, name):
        """What the page sent of this type."""
        return [event for event in self.received if event["type"] == name]

    def hears(self, item, text, final=True):
        """The caller says something that the service understands."""
        self.send("input_audio_buffer.speech_started", item_id=item, audio_start_ms=0)
        self.send("input_audio_buffer.speech_stopped", item_id=item, audio_end_ms=900)
        kind = "completed" if final else "delta"
        field = "transcript" if final else "delta"
        name = f"conversation.item.input_audio_transcription.{kind}"
        self.send(name, item_id=item, content_index=0, **{field: text})

    def speaks(self, text, ms=0, response="resp_1", item="item_1", done=True):
        """The assistant answers with a transcript and as much sound."""
        place = {"response_id": response, "item_id": item, "output_index": 0, "content_index": 0}
        self.send("response.created", response={"id": response, "status": "in_progress"})
        added = {"id": item, "type": "message", "role": "assistant", "content": []}
        self.send("response.output_item.added", response_id=response, output_index=0, item=added)
        self.send("response.output_audio_transcript.delta", delta=text, **place)
        for start in range(0, ms, 200):
            self.send(
                "response.output_audio.delta", delta=sound(min(200, ms - start), start_ms=start), **place
            )
        if done:
            self.send("response.output_audio.done", **place)
            self.send("response.output_audio_transcript.done", transcript=text, **place)
            self.send("response.done", response={"id": response, "status": "completed", "output": []})


def sound(ms, hz=440, start_ms=0):
    """A tone as the wire has it."""
    count, first = RATE * ms // 1000, RATE * start_ms // 1000
    samples = (int(9000 * math.sin(2 * math.pi * hz * (first + i) / RATE)) for i in range(count))
    return base64.b64encode(struct.pack(f"<{count}h", *samples)).decode()
