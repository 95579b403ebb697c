"""Every line of a log is JSON, and none carries a credential."""

import json
import subprocess
import sys

import pytest

from vocero.logs import HIDDEN, calm_event, redacted

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
