"""A real, tiny login service on loopback whose next answer a test may choose."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ADMINISTRATOR = "+34600000001"
MANAGER = "+34600000002"
UNKNOWN = "+34600000009"
PEOPLE = {
    ADMINISTRATOR: {"id": "u-1", "name": "Ada Admin"},
    MANAGER: {"id": "u-2", "name": "Mara Manager"},
}


class LoginServer:
    """Answers for PEOPLE with a fresh token each time, or with what `answer_with` set."""

    def __init__(self):
        self.seen = []
        self.tokens = []
        self.url = ""
        self._next = None

    def answer_with(self, status, body=b"", **headers):
        """The answer to every request from now on; a body that is no bytes is sent as JSON."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._next = (status, raw, headers)

    def answer(self, request):
        self.seen.append(request)
        if self._next:
            return self._next
        person = PEOPLE.get(request["body"]["phone"])
        if person is None:
            return 404, b'{"error": "unknown phone, token-of-nobody"}', {}
        self.tokens.append(f"backend-token-{len(self.tokens)}-of-{person['id']}-0123456789")
        return 200, json.dumps({"sessionToken": self.tokens[-1], "user": person}).encode(), {}

    @contextmanager
    def running(self):
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(self))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}/login"
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def handler_for(login):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = {"path": self.path, "headers": dict(self.headers), "body": json.loads(body)}
            status, raw, headers = login.answer(request)
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *args):
            pass

    return Handler
