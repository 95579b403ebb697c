"""A PostgreSQL and a Redis of a test's own, on loopback, to be stopped and started at will."""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from conversations.tests.serving import ROOT, free_port

START_SECONDS = 30.0
POSTGRES = "/usr/lib/postgresql"


def postgres_programs():
    """The folder with PostgreSQL's programs, None where there is none."""
    folders = [*Path(POSTGRES).glob("*/bin"), Path(shutil.which("initdb") or "/nowhere/initdb").parent]
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def missing():
    """What is not installed, in words; None where everything is."""
    absent = [] if postgres_programs() else ["PostgreSQL"]
    absent += [] if shutil.which("redis-server") else ["Redis"]
    return f"{' and '.join(absent)} not installed" if absent else None


class OwnServer:
    """A server program; `start` returns once it says that it is ready."""

    def __init__(self, command, ready):
        self._command, self._ready_words = command, ready
        self._process = self._reader = None
        self.log = []

    def start(self):
        ready = threading.Event()
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._reader = threading.Thread(target=self._read, args=(self._process, ready), daemon=True)
        self._reader.start()
        assert ready.wait(START_SECONDS), "".join(self.log)[-4000:]
        assert self._process.poll() is None, "".join(self.log)[-4000:]

    def stop(self, how=signal.SIGINT):
        if self._process is None:
            return
        self._process.send_signal(how)
        self._process.wait(START_SECONDS)
        self._reader.join(10)
        self._process.stdout.close()
        self._process = None

    def _read(self, process, ready):
        for line in process.stdout:
            self.log.append(line)
            if self._ready_words in line:
                ready.set()
        ready.set()


@contextlib.contextmanager
def own_redis():
    """A running Redis that keeps nothing, with its address as `url`."""
    port, folder = free_port(), tempfile.mkdtemp(prefix="vocero-redis-")
    options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    server = OwnServer(["redis-server", *options, "--dir", folder], "Ready to accept connections")
    server.url = f"redis://127.0.0.1:{port}/0"
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


@contextlib.contextmanager
def own_postgres():
    """A running PostgreSQL with a migrated database, with its address as `url`."""
    port, folder = free_port(), Path(tempfile.mkdtemp(prefix="vocero-postgres-"))
    secret, bin_ = secrets.token_hex(16), postgres_programs()
    (folder / "password").write_text(secret)
    as_user = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root.
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        for path in (folder, folder / "password"):
            shutil.chown(path, "postgres", "postgres")
    options = ["--username=vocero", f"--pwfile={folder / 'password'}", "--auth=scram-sha-256", "--no-sync"]
    initdb = [bin_ / "initdb", "-D", folder / "data", "--encoding=UTF8", "--locale=C", *options]
    subprocess.run([*as_user, *initdb], check=True, stdout=subprocess.DEVNULL)
    serve = [bin_ / "postgres", "-D", folder / "data", "-h", "127.0.0.1", "-p", str(port), "-k", ""]
    server = OwnServer(
        [*as_user, *serve, "-c", "fsync=off"], "database system is ready to accept connections"
    )
    server.url = f"postgres://vocero:{secret}@127.0.0.1:{port}/postgres"
    server.start()
    try:
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(migrate, cwd=ROOT, env={**os.environ, "DATABASE_URL": server.url}, check=True)
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)
