"""Every setting is read once, typed, and refuses nonsense with its own name."""

import base64
import runpy

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from vocero import settings
from vocero.env import EIGHT_TOOLS, environment, read_django, read_vocero

KEY = base64.urlsafe_b64encode(bytes(range(32))).decode()


def test_nothing_set_is_a_plain_relay_with_safe_defaults():
    vocero = read_vocero({})
    assert (vocero.mode, vocero.tool_selection, vocero.unsafe_phone_selector, vocero.demo) == (
        "plain",
        "auto",
        False,
        False,
    )
    assert vocero.mcp_tools == EIGHT_TOOLS
    assert (vocero.conversation_ttl, vocero.conversation_idle) == (3600, 900)
    assert (vocero.max_tool_calls, vocero.tool_timeout, vocero.silence_limit) == (6, 30, 20)
    assert (vocero.result_chars, vocero.turn_result_chars, vocero.history_turns) == (64_000, 96_000, 12)
    assert (vocero.retention_transcripts, vocero.retention_payloads, vocero.retention_rows) == (30, 30, 365)
    assert vocero.demo_badge == "Local speech"


def test_aquaportal_makes_the_mode():
    assert read_vocero({"S2S_MCP_URL": "https://portal.example/mcp"}).mode == "mcp"


def test_the_bridge_makes_the_mode_where_aquaportal_does_not():
    bridge = {"S2S_APIPILOT_TOOLS_URL": "https://bridge.example/tools"}
    assert read_vocero(bridge).mode == "apipilot"
    assert read_vocero({**bridge, "S2S_MCP_URL": "https://portal.example/mcp"}).mode == "mcp"
    assert read_vocero({"S2S_AGENT_PROFILE": "apipilot"}) == read_vocero({})


def test_the_bridges_settings_are_read_and_its_credential_is_in_no_representation():
    vocero = read_vocero(
        {
            "S2S_APIPILOT_TOOLS_URL": "https://bridge.example/tools",
            "S2S_APIPILOT_TOOLS_EXECUTE_URL": "https://bridge.example/farms/{farm_id}/{name}",
            "S2S_APIPILOT_TTL_SEC": "60",
            "S2S_APIPILOT_TOKEN": "SECRET-of-the-service",
        }
    )
    assert (vocero.apipilot.ttl, vocero.apipilot.token) == (60, "SECRET-of-the-service")
    assert vocero.apipilot.execute_url == "https://bridge.example/farms/{farm_id}/{name}"
    assert "SECRET" not in repr(vocero)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("S2S_APIPILOT_TOOLS_EXECUTE_URL", "https://{name}.example/run"),
        ("S2S_APIPILOT_TOOLS_EXECUTE_URL", "https://bridge.example/run?tool={name}"),
        ("S2S_APIPILOT_TOOLS_EXECUTE_URL", "https://bridge.example/run/{na me}"),
        ("S2S_APIPILOT_TOOLS_EXECUTE_URL", "https://bridge.example/run/{name"),
        ("S2S_APIPILOT_TOOLS_URL", "file:///etc/passwd"),
        ("S2S_APIPILOT_TTL_SEC", "-1"),
        ("S2S_APIPILOT_TOKEN", "SECRET two words"),
        ("S2S_APIPILOT_TOKEN", "SECRET\r\nX-Evil: 1"),
        ("S2S_PROFILE_URL", "gopher://x"),
        ("S2S_SPEECH_URL", "http://speech.example"),
        ("S2S_SPEECH_URL", "speech.example"),
        ("S2S_MCP_URL", "file:///etc/passwd"),
        ("S2S_MCP_URL", "https://user:SECRET@portal.example"),
        ("S2S_MCP_URL", "https://portal.example:port"),
        ("S2S_BACKEND_LOGIN_URL", "ftp://login.example"),
        ("S2S_PUBLIC_URL", "https://"),
        ("S2S_PUBLIC_URL", "https://talk.example/voice"),
        ("S2S_ALLOWED_ORIGINS", "https://shop.example/path"),
        ("S2S_ALLOWED_ORIGINS", "*"),
        ("S2S_CONVERSATION_TTL", "an hour"),
        ("S2S_CONVERSATION_TTL", "59"),
        ("S2S_CONVERSATION_IDLE", "1.5"),
        ("S2S_TOOL_TIMEOUT", "nan"),
        ("S2S_TOOL_TIMEOUT", "0"),
        ("S2S_MAX_TOOL_CALLS", "-1"),
        ("S2S_HISTORY_TURNS", "-1"),
        ("S2S_TRUSTED_PROXIES", "99"),
        ("S2S_TOOL_SELECTION", "magic"),
        ("S2S_UNSAFE_PHONE_SELECTOR", "perhaps"),
        ("S2S_TOOL_LABELS", "{"),
        ("S2S_TOOL_LABELS", '{"en": "text"}'),
        ("S2S_TOOL_QUESTIONS", '{"en": {"get_report": 1}}'),
        ("S2S_TOKEN_KEYS", "SECRET-too-short"),
        ("S2S_TOKEN_KEYS", f"{KEY},SECRET-not-a-key-not-a-key-not-a-key-not-a-"),
    ],
)
def test_nonsense_is_refused_by_name_and_not_repeated(name, value):
    with pytest.raises(ImproperlyConfigured, match=name) as refused:
        read_vocero({name: value})
    assert "SECRET" not in str(refused.value)


def test_vault_keys_keep_their_order():
    newer = Fernet.generate_key().decode()
    assert read_vocero({"S2S_TOKEN_KEYS": f"{newer}, {KEY}"}).token_keys == (newer, KEY)


def test_a_secret_may_come_from_a_file(tmp_path):
    file = tmp_path / "key"
    file.write_text("speech-key\n")
    assert read_vocero({"S2S_SPEECH_API_KEY_FILE": str(file)}).speech_api_key == "speech-key"
    with pytest.raises(ImproperlyConfigured, match="S2S_SPEECH_API_KEY_FILE"):
        read_vocero({"S2S_SPEECH_API_KEY_FILE": str(tmp_path / "missing")})


def test_origins_are_kept_in_lower_case_and_the_public_address_without_its_last_slash():
    vocero = read_vocero(
        {"S2S_ALLOWED_ORIGINS": "HTTPS://Shop.Example:8443", "S2S_PUBLIC_URL": "https://talk.example/"}
    )
    assert vocero.allowed_origins == ("https://shop.example:8443",)
    assert vocero.public_url == "https://talk.example"


def test_a_name_that_is_no_setting_is_kept_with_the_nearest_that_is(tmp_path):
    key = tmp_path / "key"
    key.write_text("key")
    named = {"S2S_CONFIRM_TOOL": "pay", "S2S_XYZ": "1", "HOME": "/", "S2S_SPEECH_API_KEY_FILE": str(key)}
    assert read_vocero(named).misspelled == {"S2S_CONFIRM_TOOL": "S2S_CONFIRM_TOOLS", "S2S_XYZ": ""}


@pytest.mark.parametrize("name", ["S2S_ALLOWED_ORIGINS", "S2S_EMBED_ORIGINS"])
def test_an_origin_with_a_star_is_refused_where_origins_are_compared_whole(name):
    with pytest.raises(ImproperlyConfigured, match=f"{name}.*in full"):
        read_vocero({name: "https://shop.example,https://*.shop.example"})
    django = read_django({"DEBUG": "true", "CSRF_TRUSTED_ORIGINS": "https://*.shop.example"})
    assert django.csrf_trusted_origins == ("https://*.shop.example",)


def test_a_secret_key_is_demanded_outside_debugging():
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY"):
        read_django({})
    assert read_django({"DEBUG": "true"}).debug is True


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "nonsense"),
        ("REDIS_URL", "http://redis.example"),
        ("LOG_LEVEL", "LOUD"),
        ("DEBUG", "maybe"),
        ("CSRF_TRUSTED_ORIGINS", "talk.example"),
    ],
)
def test_nonsense_for_django_is_refused_by_name(name, value):
    with pytest.raises(ImproperlyConfigured, match=name):
        read_django({"SECRET_KEY": "x", name: value})


def test_a_file_of_settings_does_not_override_the_environment(tmp_path, monkeypatch):
    (tmp_path / "settings.env").write_text("S2S_HISTORY_TURNS=3\nS2S_RATE_SECRETS=7\n")
    monkeypatch.setenv("ENV_FILE", "settings.env")
    monkeypatch.setenv("S2S_HISTORY_TURNS", "5")
    monkeypatch.setenv("S2S_RATE_SECRETS", "")
    monkeypatch.delenv("S2S_RATE_SECRETS")
    values = environment(tmp_path)
    monkeypatch.setenv("S2S_RATE_SECRETS", "")  # What the file set is taken back with the test.
    assert (values["S2S_HISTORY_TURNS"], values["S2S_RATE_SECRETS"]) == ("5", "7")


def test_a_file_of_settings_that_is_not_there_is_refused_and_an_empty_name_means_none(tmp_path, monkeypatch):
    monkeypatch.setenv("ENV_FILE", "production.env")
    with pytest.raises(ImproperlyConfigured, match="ENV_FILE"):
        environment(tmp_path)
    monkeypatch.setenv("ENV_FILE", "")
    assert environment(tmp_path)["ENV_FILE"] == ""


def test_a_database_whose_folder_cannot_be_made_is_refused_by_name(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path / 'file' / 'vocero.sqlite3'}")
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL"):
        runpy.run_path(settings.__file__)
