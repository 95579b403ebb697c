"""Every line of a log is JSON, and none carries a credential."""

import json
import subprocess
import sys

import pytest

from vocero.logs import HIDDEN, redacted

UNDER_UVICORN = """
import logging.config, uvicorn.config
from vocero.logs import configure, logging_config
logging.config.dictConfig(uvicorn.config.LOGGING_CONFIG)
configure(logging_config("WARNING"))
access = ("127.0.0.1:4711", "GET", "/?link=the-signed-link", "1.1", 200)
logging.getLogger("uvicorn.access").info('%s - "%s %s HTTP/%s" %d', *access)
logging.getLogger("uvicorn.error").info("Uvicorn running")
"""


def test_under_uvicorn_its_lines_are_ours_and_no_line_has_the_address_of_a_request():
    done = subprocess.run([sys.executable, "-c", UNDER_UVICORN], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == ["Uvicorn running"]


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
