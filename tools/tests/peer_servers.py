"""MCP servers of others, as they are, each in a process of its own on a free loopback port."""

import contextlib
import os
import socket
import subprocess
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FASTMCP_PYTHON = ROOT / ".venvs" / "fastmcp" / "bin" / "python"
EVERYTHING = ROOT / "node_modules" / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
START_SECONDS = 60.0
# The reference server listens on every address of the machine; this keeps it to loopback.
LOOPBACK = (
    "data:text/javascript,import net from 'node:net'; const listen = net.Server.prototype.listen;"
    "net.Server.prototype.listen = function (port, ...more) {"
    " return listen.call(this, port, '127.0.0.1', ...more); };"
)


class Peer:
    """A running server; `log` is what it has written, a line each."""

    def __init__(self, command, environment, ready, url):
        self.url = url
        self.log = []
        self._words = ready
        self._changed = threading.Condition()
        self._process = subprocess.Popen(
            command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_until_ready(self):
        assert self.has_written(self._words, START_SECONDS), "\n".join(self.log)

    def has_written(self, words, seconds=10.0):
        """Whether a line with these words comes within so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: any(words in line for line in self.log), seconds)

    def stop(self):
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)
        self._reader.join(5)
        self._process.stdout.close()

    def _read(self):
        for line in self._process.stdout:
            with self._changed:
                self.log.append(line.rstrip())
                self._changed.notify_all()


@contextlib.contextmanager
def fastmcp(*options):
    """The FastMCP server of `fastmcp_server.py`, started with these options."""
    port = _free_port()
    script = Path(__file__).with_name("fastmcp_server.py")
    command = [FASTMCP_PYTHON, script, str(port), *options]
    yield from _running(command, {"PYTHONUNBUFFERED": "1"}, "Uvicorn running on", port)


@contextlib.contextmanager
def everything():
    """The reference server of the protocol, in its Streamable HTTP mode."""
    port = _free_port()
    command = ["node", "--import", LOOPBACK, EVERYTHING, "streamableHttp"]
    yield from _running(command, {"PORT": str(port)}, "listening on port", port)


def _running(command, extra, ready, port):
    peer = Peer(command, {**os.environ, **extra}, ready, f"http://127.0.0.1:{port}/mcp")
    try:
        peer.wait_until_ready()
        yield peer
    finally:
        peer.stop()


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
