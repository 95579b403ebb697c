"""Every line of a log is JSON, and none carries a credential."""

import io
import json
import logging
import subprocess
import sys

import pytest

from vocero.logs import CARRIERS, HIDDEN, Strangers, calm_event, logging_config, redact_event, redacted

UNDER_UVICORN = """
import logging.config, uvicorn.config, warnings
from vocero.logs import configure, logging_config
logging.config.dictConfig(uvicorn.config.LOGGING_CONFIG)
configure(logging_config("WARNING"))
access = ("127.0.0.1:4711", "GET", "/?link=the-signed-link", "1.1", 200)
logging.getLogger("uvicorn.access").info('%s - "%s %s HTTP/%s" %d', *access)
logging.getLogger("uvicorn.error").info("Uvicorn running")
warnings.warn("a library complains")
"""


def test_under_uvicorn_every_line_is_ours_and_none_has_the_address_of_a_request():
    done = subprocess.run([sys.executable, "-c", UNDER_UVICORN], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    running, complaint = [json.loads(line)["event"] for line in done.stderr.splitlines()]
    assert running == "Uvicorn running"
    assert "a library complains" in complaint


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("GET /?link=abc.DEF-1_2 200", f"GET /?{HIDDEN} 200"),
        ("GET /?x=1&phone=+34600000001&y=2", f"GET /?x=1&{HIDDEN}&y=2"),
        ("GET /?phone=%2B34600000001", f"GET /?{HIDDEN}"),
        ("a phonelink=made, a link=there", "a phonelink=made, a link=there"),
    ],
)
def test_a_link_or_a_phone_in_an_address_is_hidden(said, kept):
    assert redacted(said) == kept


def test_a_wrong_host_is_told_in_one_line_and_a_fault_of_ours_with_its_traceback():
    told = {"event": "Invalid HTTP_HOST header", "level": "error", "exc_info": ("a", "b", "c")}
    host = {**told, "logger": "django.security.DisallowedHost"}
    assert calm_event(None, "error", dict(host)) == {
        "event": "Invalid HTTP_HOST header",
        "level": "warning",
        "logger": "django.security.DisallowedHost",
    }
    ours = {**told, "logger": "django.request"}
    assert calm_event(None, "error", dict(ours)) == ours


# ---- what libraries write, whatever levels an operator sets


@pytest.fixture
def written():
    """A logger of that name at DEBUG, and the lines that its records become."""
    made = []

    def write(name, level, *message, **more):
        stream = io.StringIO()
        config = logging_config("DEBUG", also_ours="shop")
        settings = config["formatters"]["line"]
        handler = logging.StreamHandler(stream)
        shape = {name: value for name, value in settings.items() if name != "()"}
        handler.setFormatter(settings["()"](**shape))
        handler.addFilter(Strangers("shop"))
        logger = logging.getLogger(name)
        made.append((logger, handler, logger.level, logger.propagate))
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.log(level, *message, **more)
        return [json.loads(line) for line in stream.getvalue().splitlines()]

    yield write
    for logger, handler, level, propagate in made:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate


@pytest.mark.parametrize(
    "name", ["websockets.client", "mcp.client", "httpcore2.http11", "asyncio", "anybody"]
)
def test_no_library_writes_at_debug_case_166(written, name):
    assert written(name, logging.DEBUG, "< TEXT %s", "what the caller said") == []


@pytest.mark.parametrize("name", sorted(CARRIERS))
def test_what_carries_frames_and_bodies_says_no_words_of_its_own(written, name):
    assert written(f"{name}.part", logging.INFO, "POST with %s", "what the caller said") == []
    [told] = written(f"{name}.part", logging.ERROR, "cannot read %s", "what the caller said")
    assert told["event"].startswith("cannot read %s (test_logs.py:")
    [told] = written(f"{name}.part", logging.ERROR, f"cannot read {'what the caller said'}")
    assert told["event"].startswith(f"{HIDDEN} (test_logs.py:")


def test_an_error_is_told_by_its_place_and_never_by_its_words(written):
    try:
        try:
            raise KeyError("what the caller said")
        except KeyError as error:
            raise ValueError("what the tool found") from error
    except ValueError as error:
        lines = [
            written("conversations.some", logging.ERROR, "broke", exc_info=error),
            written("mcp.client", logging.ERROR, "broke", exc_info=True),
        ]
    for [told] in lines:
        assert "test_logs.py" in told["exception"]
        assert told["exception"].index("ValueError") < told["exception"].index("KeyError")
        # The source line that raised is the code's own text.
        assert "ValueError: what" not in told["exception"]
        assert "KeyError: 'what" not in told["exception"]


def test_our_own_and_a_brains_debug_lines_are_written(written):
    for name in ("conversations.realtime", "tools.executor", "shop.brains"):
        assert [line["event"] for line in written(name, logging.DEBUG, "step %d", 1)] == ["step 1"]


def test_a_secret_deep_inside_a_field_is_hidden():
    event = {"seen": {"headers": [{"Authorization": "Bearer abcdefgh"}], "size": 3}, "by": ("ek_12345678",)}
    told = redact_event(None, "info", event)
    assert told == {"seen": {"headers": [{"Authorization": HIDDEN}], "size": 3}, "by": [HIDDEN]}


def test_no_handler_but_ours_is_left_in_the_process():
    found = subprocess.run([sys.executable, "-c", HANDLERS], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["root StreamHandler"]


HANDLERS = """
import django, logging, os
os.environ.update(SECRET_KEY="x", ENV_FILE="", DEBUG="true", DATABASE_URL="sqlite://:memory:")
os.environ["DJANGO_SETTINGS_MODULE"] = "vocero.settings"
django.setup()
import vocero.asgi
for name, logger in [("root", logging.root), *logging.root.manager.loggerDict.items()]:
    for handler in getattr(logger, "handlers", ()):
        if not isinstance(handler, logging.NullHandler):
            print(name, type(handler).__name__)
    if not getattr(logger, "propagate", True) and name != "uvicorn.access":
        print(name, "does not propagate")
"""
