"""The runner of the demo: its ports, secrets and words, and the processes it starts, watches and ends."""

import os
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import httpx2
import pytest

from demo import run
from demo.children import Child, DemoFailure, Program, Stopped, check_alive, end, start, wait_ready, watch

ROOT = Path(run.ROOT)
KEPT = run.Secrets("k" * 64, "a-password", False, Path("/kept/service-key"))
PORTS = run.Ports(server=8000, portal=4001, speech=4002, search=4003, model=4004)
READY = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/ready" else 404)
        self.end_headers()
        self.wfile.write(b'{"mode": "light"}')
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
STUBBORN = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
inner = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
print(inner.pid, flush=True)
signal.pause()
"""


@pytest.fixture
def child(tmp_path):
    """Starts a small Python program as a child of the demo; all of them are ended with the test."""
    started: list[Child] = []

    def begin(source: str, path: str = "/ready") -> Child:
        (port,) = run.free_ports(1)
        program = Program("The part", (sys.executable, "-c", source, str(port)), port, path)
        started.append(start(program, os.environ, tmp_path / f"{port}.log"))
        return started[-1]

    yield begin
    end(started, limit=0)


def gone(pid: int) -> bool:
    """Whether the process has ended, or does within five seconds."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], 5)[0])
    finally:
        os.close(process)


@pytest.mark.parametrize("text", ["", "abc", "0", "-1", "65536", "80.5", "٨٠٠٠"])
def test_a_port_that_is_none_is_one_clear_sentence(text):
    with pytest.raises(DemoFailure, match=r"^PORT must be a number from 1 to 65535\.$"):
        run.usable_port(text)


def test_a_port_in_use_is_one_clear_sentence_with_the_way_out():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(DemoFailure, match=rf"^Port {port} is in use\. .*make demo PORT="):
            run.usable_port(str(port))
    assert run.usable_port(str(port)) == port


def test_a_folder_that_cannot_be_written_is_one_clear_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DemoFailure, match=r"file/demo cannot be written \(Not a directory\)"):
        run.kept_secrets(tmp_path / "file" / "demo")


def test_a_secret_that_was_never_written_is_made_again(tmp_path):
    (tmp_path / "secret-key").touch()
    made = run.kept_secrets(tmp_path)
    assert len(made.secret_key) > 50
    assert run.kept_secrets(tmp_path).secret_key == made.secret_key


def test_free_ports_differ():
    assert len(set(run.free_ports(20))) == 20


def test_a_secret_is_made_once_and_only_its_owner_reads_it(tmp_path):
    first, made = run.kept_secret(tmp_path / "secret-key")
    assert made
    assert len(first) >= 50
    assert stat.S_IMODE((tmp_path / "secret-key").stat().st_mode) == 0o600
    assert run.kept_secret(tmp_path / "secret-key") == (first, False)


def test_the_password_is_new_only_at_the_first_start(tmp_path):
    first, second = run.kept_secrets(tmp_path / "demo"), run.kept_secrets(tmp_path / "demo")
    assert (first.new_password, second.new_password) == (True, False)
    assert (first.password, first.secret_key) == (second.password, second.secret_key)


def test_the_server_is_pointed_at_the_stand_ins_whatever_the_environment_says(tmp_path):
    base = {"PATH": "/bin", "S2S_MCP_URL": "https://real.example", "DEBUG": "true", "REDIS_URL": "redis://x"}
    made = run.server_environment(base, PORTS, KEPT, tmp_path, light=False)
    assert made["S2S_MCP_URL"] == "http://127.0.0.1:4001/mcp"
    assert made["S2S_BACKEND_LOGIN_URL"] == "http://127.0.0.1:4001/login"
    assert made["S2S_SPEECH_URL"] == "ws://127.0.0.1:4002/v1/realtime"
    assert made["S2S_SERPER_URL"] == "http://127.0.0.1:4003/search"
    assert (made["DEBUG"], made["REDIS_URL"], made["ENV_FILE"]) == ("false", "", "")
    assert (made["S2S_DEMO"], made["S2S_UNSAFE_PHONE_SELECTOR"]) == ("true", "true")
    assert made["DATABASE_URL"] == f"sqlite:///{tmp_path}/demo.sqlite3"
    assert made["PATH"] == "/bin"


def test_the_bridge_takes_the_portals_place(tmp_path):
    made = run.server_environment({}, PORTS, KEPT, tmp_path, light=False, mode="apipilot")
    assert made["S2S_MCP_URL"] == ""
    assert made["S2S_APIPILOT_TOOLS_URL"] == "http://127.0.0.1:4001/tools"
    assert made["S2S_APIPILOT_TOOLS_EXECUTE_URL"] == "http://127.0.0.1:4001/tools/execute"
    assert made["S2S_BACKEND_LOGIN_URL"] == "http://127.0.0.1:4001/login"
    assert "demo.apipilot" in run.portal_program(PORTS, "apipilot").command
    assert "demo.aquaportal" in run.portal_program(PORTS).command
    other = run.server_environment({"S2S_APIPILOT_TOOLS_URL": "http://real"}, PORTS, KEPT, tmp_path, False)
    assert other["S2S_APIPILOT_TOOLS_URL"] == ""


def test_the_demos_model_thinks_where_a_brain_does(tmp_path):
    made = run.server_environment({}, PORTS, KEPT, tmp_path, light=False)
    assert made["S2S_LLM_BASE_URL"] == "http://127.0.0.1:4004/v1"
    assert made["S2S_BRAIN"] == "demo.brains.NotebookBrain"
    assert "demo.model" in run.model_program(PORTS).command
    other = run.server_environment({"S2S_BRAIN": "shop.brains.Mine"}, PORTS, KEPT, tmp_path, light=False)
    assert other["S2S_BRAIN"] == "shop.brains.Mine"


def test_vocero_thinks_for_the_speech_service_where_that_is_asked_for(tmp_path):
    asked = run.server_environment({"S2S_BRAIN_AS_LLM": "true"}, PORTS, KEPT, tmp_path, light=False)
    assert run.brain_thinks(asked)
    assert not run.brain_thinks({})
    assert asked["S2S_SERVICE_KEYS_FILE"] == "/kept/service-key"
    command = run.speech_program(PORTS, True, KEPT.service_key).command
    assert command[-4:] == ["--llm-url", "http://127.0.0.1:8000/v1", "--llm-key-file", "/kept/service-key"]


def test_a_way_of_picking_tools_can_be_tried_on_the_demo(tmp_path):
    made = run.server_environment({"S2S_TOOL_SELECTION": "marker"}, PORTS, KEPT, tmp_path, light=False)
    assert made["S2S_TOOL_SELECTION"] == "marker"


def test_the_page_says_when_there_are_no_speech_models(tmp_path):
    badges = [
        run.server_environment({}, PORTS, KEPT, tmp_path, light)["S2S_DEMO_BADGE"] for light in (True, False)
    ]
    assert badges == ["Demo without speech models: type", "Local speech"]


def test_light_is_asked_of_the_speech_service():
    assert "--light" in run.speech_program(PORTS, light=True).command
    assert "--light" not in run.speech_program(PORTS, light=False).command


@pytest.mark.parametrize(
    ("body", "mode"),
    [(b'{"mode": "light"}', "light"), (b"{}", ""), (b"[1]", ""), (b"<html>", ""), (b"\xff", "")],
)
def test_the_mode_is_what_the_speech_service_says(body, mode):
    assert run.declared_mode(body) == mode


def test_the_banner_names_the_addresses_the_login_and_three_things_to_say():
    text = run.banner(PORTS, KEPT, "full", Path("var/demo"))
    assert "http://127.0.0.1:8000/\n" in text
    assert "http://127.0.0.1:8000/admin/   operator / a-password" in text
    assert all(sentence in text for sentence in run.SAY)
    assert "light" not in text


def test_the_banner_says_when_the_voice_is_the_fallback():
    assert "light fallback" in run.banner(PORTS, KEPT, "light", Path("var/demo"))


def test_a_folder_below_this_one_is_named_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run.short_path(tmp_path / "var" / "demo") == Path("var/demo")
    assert run.short_path(Path("/elsewhere")) == Path("/elsewhere")


def test_a_child_is_ready_when_its_path_answers_200(child):
    assert wait_ready(child(READY), threading.Event(), 20) == b'{"mode": "light"}'


def test_a_child_that_never_answers_200_is_given_up(child):
    with pytest.raises(DemoFailure, match=r"The part was not ready after 0\.5 seconds"):
        wait_ready(child(READY, path="/other"), threading.Event(), 0.5)


def test_a_child_that_ends_is_told_with_its_code_and_last_lines(child):
    ended = child("import sys; print('first'); print('the reason'); sys.exit(3)")
    with pytest.raises(DemoFailure, match=r"(?s)The part ended \(exit code 3\)\..*the reason"):
        wait_ready(ended, threading.Event(), 20)


def test_a_child_that_is_killed_is_told_by_its_signal(child):
    ended = child("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    ended.process.wait()
    with pytest.raises(DemoFailure, match="SIGKILL"):
        check_alive(ended)


def test_a_child_that_dies_later_ends_the_demo_with_its_reason(child):
    healthy, dying = child(READY), child("print('out of luck')")
    with pytest.raises(DemoFailure, match=r"(?s)exit code 0.*out of luck"):
        watch([healthy, dying], threading.Event())


def test_the_person_ends_the_wait(child):
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        wait_ready(child(READY, path="/other"), stop, 20)
    watch([child(READY)], stop)


def test_the_end_takes_the_whole_group_of_a_child_that_will_not_listen(child):
    stubborn = child(STUBBORN)
    with stubborn.log.open() as log:
        while not (line := log.readline()).strip():
            assert stubborn.process.poll() is None
    inner = int(line)
    end([stubborn], limit=0.2)
    assert stubborn.process.returncode == -signal.SIGKILL
    assert gone(inner)


def test_a_child_does_not_get_the_terminals_ctrl_c(child):
    assert os.getpgid(child(READY).process.pid) != os.getpgid(0)


def test_a_speech_service_that_cannot_load_its_models_is_started_without_them(child, capsys):
    (port,) = run.free_ports(1)
    fallback = Program("Light", (sys.executable, "-c", READY, str(port)), port, "/ready")
    children = [child("raise SystemExit('no models')")]
    try:
        mode = run.speech_ready(children[0], fallback, children, threading.Event())
    finally:
        end(children)
    assert (mode, [one.name for one in children]) == ("light", ["Light"])
    assert "no models" in capsys.readouterr().err


def read_until_end_of_banner(process: subprocess.Popen[str]) -> str:
    said = []
    for line in process.stdout:
        said.append(line)
        if "Ctrl-C" in line:
            return "".join(said)
    raise AssertionError("".join(said) + process.stderr.read())


def signed_in(admin: str, name: str, password: str) -> bool:
    with httpx2.Client(follow_redirects=True, timeout=20) as browser:
        form = browser.get(admin).url
        fields = {"username": name, "password": password, "next": "/admin/"}
        answer = browser.post(form, data=fields | {"csrfmiddlewaretoken": browser.cookies["csrftoken"]})
        return answer.status_code == 200 and str(answer.url) == admin


def test_the_demo_starts_as_printed_and_ends_with_everything_it_started(tmp_path):
    (port,) = run.free_ports(1)
    command = [sys.executable, "-m", "demo.run", "--port", str(port), "--speech", "light", "--var", tmp_path]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as demo:
        try:
            said = read_until_end_of_banner(demo)
            children = Path(f"/proc/{demo.pid}/task/{demo.pid}/children").read_text().split()
            page, admin = re.findall(r"http://\S+", said)[:2]
            assert httpx2.get(page, timeout=20).status_code == 200
            assert signed_in(admin, *re.search(r"/admin/ +(\S+) / (\S+)", said).groups())
        finally:
            demo.send_signal(signal.SIGINT)
            demo.wait(20)
    assert demo.returncode == 0
    assert len(children) == 5
    assert all(gone(int(pid)) for pid in children)
    run.usable_port(str(port))
