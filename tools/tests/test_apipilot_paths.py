"""Values in the bridge's address: encoded, and never leading anywhere else."""

from urllib.parse import unquote

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tools.sources.apipilot import ApiPilotSource, BridgeFailure, Endpoints
from tools.sources.apipilot.paths import PathRefused, filled, placeholders
from tools.testing import a_context
from tools.tests.bridge_server import bridge_server

TEMPLATE = "https://bridge.example/v1/farms/{farm_id}/tools/{name}/run?lang=en"
CLIMBING = [
    "..",
    ".",
    "../secrets",
    "..%2f",
    "..%2Fsecrets",
    "%2e%2e",
    "%2e%2e%2f",
    "%252e%252e/",
    "%252e%252e%252f",
    "%25252e%25252e%25252f",
    "．．",
    "．．／secrets",
    "․․",
    "‥",
    "%EF%BC%8E%EF%BC%8E",
    "..\\secrets",
    "..%5csecrets",
    "a＼b",
    "..;",
    "..;x=1",
    ".. ",
    " ..",
    "a/b",
    "/etc/passwd",
    "",
    " ",
    "a\r\nX-Evil: 1",
    "a%0d%0aX",
    "a\x00",
    "\ud800",
    "x" * 201,
    "%" + "25" * 10 + "2e%" + "25" * 10 + "2e",
]


@pytest.mark.parametrize("value", CLIMBING)
def test_a_value_that_leaves_the_template_is_refused_case_174(value):
    with pytest.raises(PathRefused) as refusal:
        filled(TEMPLATE, {"farm_id": value, "name": "get_report"})
    assert str(refusal.value).startswith("farm_id ")


@pytest.mark.parametrize("value", [None, True, 1.5, [], {}, ["a"]])
def test_only_texts_and_whole_numbers_stand_in_a_path(value):
    with pytest.raises(PathRefused):
        filled(TEMPLATE, {"farm_id": value, "name": "x"})
    with pytest.raises(PathRefused):
        filled(TEMPLATE, {"name": "x"})


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("rep-1", "rep-1"),
        (7, "7"),
        (-7, "-7"),
        ("a b", "a%20b"),
        ("ñandú", "%C3%B1and%C3%BA"),
        ("a?b#c&d", "a%3Fb%23c%26d"),
        ("100%", "100%25"),
        ("user@evil.example", "user%40evil.example"),
        ("{name}", "%7Bname%7D"),
        ("..a", "..a"),
        ("v1.2", "v1.2"),
        ("http:", "http%3A"),
    ],
)
def test_a_value_is_encoded_into_one_segment(value, written):
    address = filled(TEMPLATE, {"farm_id": value, "name": "get_report"})
    assert address == f"https://bridge.example/v1/farms/{written}/tools/get_report/run?lang=en"


@example("．．")
@given(st.text(max_size=60))
def test_whatever_the_value_the_address_is_the_templates_case_174(value):
    try:
        address = filled(TEMPLATE, {"farm_id": value, "name": "get_report"})
    except PathRefused:
        return
    url = httpx2.URL(address)
    assert url.host == "bridge.example"
    path = url.raw_path.decode().partition("?")[0]
    before, _, rest = path.removeprefix("/v1/farms/").partition("/")
    assert rest == "tools/get_report/run"
    assert unquote(before) == value


def test_an_address_without_placeholders_is_itself():
    assert placeholders(TEMPLATE) == ("farm_id", "name")
    assert filled("http://b/tools/execute", {"name": ".."}) == "http://b/tools/execute"


async def test_a_template_is_filled_from_the_call_and_a_climbing_call_is_not_sent_case_174():
    async with bridge_server() as bridge:
        template = f"{bridge.origin}/base/farms/{{farm_id}}/run/{{name}}"
        source = ApiPilotSource(Endpoints(bridge.tools_url, template))
        await source.execute("echo", {"farm_id": "north 1"}, a_context())
        assert bridge.last()[1] == "/base/farms/north%201/run/echo"
        with pytest.raises(BridgeFailure) as failure:
            await source.execute("echo", {"farm_id": "../../admin"}, a_context())
        await source.aclose()
        assert failure.value.code == "invalid_arguments"
        assert len(bridge.seen) == 1
