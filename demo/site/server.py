"""Two pages, one with the element and one with the frame, and the address that opens a conversation."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from functools import partial
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The page's own policy: what an embedding site has to allow, and no more.
POLICY = (
    "default-src 'none'; script-src 'self' {vocero}; style-src 'self' {vocero}; "
    "img-src 'self' {vocero} data:; "
    "connect-src 'self' {vocero} {socket}; media-src blob:; worker-src {vocero}; frame-src {vocero}; "
    "base-uri 'none'"
)
ELEMENT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>A site with an assistant</title>
<h1>Blue Fjord Farms</h1>
<vocero-assistant token-url="/assistant-token"></vocero-assistant>
<script type="module" src="{vocero}/embed/vocero-assistant.js"></script>
</html>
"""
FRAME = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>A site with an assistant in a frame</title>
<h1>Blue Fjord Farms</h1>
<iframe id="assistant" title="Assistant" allow="microphone; autoplay" width="420" height="700"></iframe>
<script src="/frame.js" data-vocero="{vocero}"></script>
</html>
"""
FRAME_SCRIPT = """const vocero = document.currentScript.dataset.vocero;
const frame = document.getElementById("assistant");
addEventListener("message", async ({ origin, source, data }) => {
  if (origin !== vocero || source !== frame.contentWindow || data?.type !== "vocero.secret.wanted") return;
  const answer = await fetch("/assistant-token", { method: "POST" });
  if (!answer.ok) return;
  const { value, conversation } = await answer.json();
  frame.contentWindow.postMessage({ type: "vocero.secret", value, conversation }, vocero);
});
frame.src = `${vocero}/embed/frame`;
"""


def site(port: int, vocero: str, api_key: str, phone: str) -> ThreadingHTTPServer:
    """A site on loopback all of whose visitors are the caller with this phone; `vocero` is an origin."""
    return ThreadingHTTPServer(("127.0.0.1", port), partial(_Visitor, vocero, api_key, phone))


class _Visitor(BaseHTTPRequestHandler):
    def __init__(self, vocero: str, api_key: str, phone: str, *arguments: object) -> None:
        self.vocero, self._api_key, self._phone = vocero, api_key, phone
        super().__init__(*arguments)  # type: ignore[arg-type]

    def log_message(self, *_arguments: object) -> None:
        """Secrets are in its answers, and nothing of them belongs into a log."""

    def do_GET(self) -> None:
        pages = {"/": ("text/html", ELEMENT), "/frame": ("text/html", FRAME)}
        if self.path in pages:
            kind, page = pages[self.path]
            self._answer(200, kind, page.replace("{vocero}", escape(self.vocero)))
        elif self.path == "/frame.js":
            self._answer(200, "text/javascript", FRAME_SCRIPT)
        else:
            self._answer(404, "text/plain", "There is no such page.")

    def do_POST(self) -> None:
        """A real site looks up here who is signed in; the caller never chooses it."""
        if self.path != "/assistant-token":
            self._answer(404, "text/plain", "There is no such page.")
            return
        order = urllib.request.Request(  # noqa: S310  (the address is the site's own setting)
            f"{self.vocero}/v1/realtime/client_secrets",
            data=json.dumps({"phone": self._phone}).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self._api_key}"},
        )
        try:
            with urllib.request.urlopen(order, timeout=20) as opened:  # noqa: S310
                self._answer(200, "application/json", opened.read().decode())
        except urllib.error.HTTPError as refused:
            self._answer(502, "text/plain", f"The assistant answered {refused.code}.")

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        policy = POLICY.format(vocero=self.vocero, socket=self.vocero.replace("http", "ws", 1))
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Content-Security-Policy": policy,
            "Cache-Control": "no-store",
        }
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
