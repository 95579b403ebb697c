"""What `manage.py check` says about a deployment."""

from dataclasses import replace

import pytest

from vocero import checks
from vocero.env import EIGHT_TOOLS, ApiPilot

SOUND = {
    "speech_url": "wss://speech.example/v1/realtime",
    "token_keys": ("k" * 44,),
    "public_url": "https://talk.example",
    "backend_login_url": "https://login.example",
    "mcp_url": "https://portal.example/mcp",
}

BRIDGE = ApiPilot("https://bridge.example/tools", "https://bridge.example/tools/{name}")


@pytest.fixture
def said(settings):
    """The ids of what the checks say after changes to a sound deployment."""

    settings.ALLOWED_HOSTS = ["talk.example"]

    def check(check, **changes):
        settings.VOCERO = replace(settings.VOCERO, **{**SOUND, **changes})
        return {message.id.removeprefix("vocero.") for message in check(None)}

    return check


def test_a_sound_deployment_hears_nothing(said):
    assert said(checks.configuration) == set()
    assert said(checks.deployment) == set()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"backend_login_url": ""}, {"E001"}),
        ({"backend_login_url": "", "mcp_url": ""}, set()),
        ({"result_chars": 9000, "turn_result_chars": 8000}, {"E002"}),
        ({"speech_url": ""}, {"W001"}),
        ({"token_keys": ()}, {"W002"}),
        ({"token_keys": (), "demo": True}, set()),
        ({"mcp_tools": (*EIGHT_TOOLS, "drop_tables")}, {"W003"}),
        ({"mcp_tools": EIGHT_TOOLS[:2]}, set()),
        ({"confirm_tools": ("get_report",)}, set()),
        ({"confirm_tools": ("get_report", "get_reports")}, {"W006"}),
        ({"confirm_tools": ("drop",), "mcp_url": ""}, set()),
        ({"serper_api_key": "k", "browser_tools": ("web_search",)}, set()),
        ({"serper_url": "https://search.example/search"}, {"W007"}),
        ({"serper_api_key": "k", "browser_tools": ("other",)}, {"W008"}),
        ({"conversation_idle": 7200, "conversation_ttl": 3600}, {"W004"}),
        ({"apipilot": BRIDGE}, {"W022"}),
        ({"misspelled": {"S2S_CONFIRM_TOOL": "S2S_CONFIRM_TOOLS"}}, {"W023"}),
        ({"apipilot": BRIDGE, "mcp_url": ""}, set()),
        ({"apipilot": BRIDGE, "mcp_url": "", "backend_login_url": ""}, set()),
        ({"apipilot": replace(BRIDGE, execute_url=""), "mcp_url": ""}, {"E003"}),
        ({"apipilot": replace(BRIDGE, tools_url=""), "mcp_url": ""}, {"E003"}),
        ({"inject_profile": True}, {"W020"}),
        ({"inject_profile": True, "profile_url": "https://portal.example/me"}, {"W020"}),
        ({"inject_profile": True, "mcp_url": ""}, {"W021"}),
        ({"inject_profile": True, "mcp_url": "", "profile_url": "https://portal.example/me"}, set()),
        ({"public_url": "https://other.example:8443"}, {"W005"}),
        ({"public_url": "https://talk.example:8443"}, set()),
        ({"public_url": ""}, set()),
    ],
)
def test_settings_that_do_not_fit_are_named(said, changes, expected):
    assert said(checks.configuration, **changes) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"unsafe_phone_selector": True}, {"W010"}),
        ({"demo": True}, {"W011"}),
        ({"public_url": ""}, {"W012"}),
        ({"public_url": "http://talk.example"}, {"W012"}),
        ({"speech_url": "ws://speech.example/"}, {"W013"}),
        ({"backend_login_url": "http://login.example"}, {"W013"}),
        ({"mcp_url": "http://10.0.0.7/mcp"}, {"W013"}),
        ({"mcp_url": "http://127.0.0.1:9/mcp", "speech_url": "ws://[::1]:9/"}, set()),
        ({"mcp_url": "http://localhost:9/mcp"}, set()),
        ({"serper_url": "http://search.example/", "serper_api_key": "k"}, {"W013"}),
        ({"serper_url": "http://search.example/"}, set()),
    ],
)
def test_what_is_unsafe_in_front_of_strangers_is_named_on_deploy(said, changes, expected):
    assert said(checks.deployment, **changes) == expected
    assert not said(checks.configuration, **changes) & expected


def test_an_added_tool_is_named(settings):
    settings.VOCERO = replace(settings.VOCERO, mcp_tools=(*EIGHT_TOOLS, "drop_tables"))
    [message] = [message for message in checks.configuration(None) if message.id == "vocero.W003"]
    assert "drop_tables" in message.msg
    assert "get_report" not in message.msg
