"""What is set, and where it comes from: names only, never a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from conversations.doctor.findings import OK, SKIPPED, Finding

NAMES = (
    "SECRET_KEY",
    "DATABASE_URL",
    "REDIS_URL",
    "S2S_PUBLIC_URL",
    "S2S_TOKEN_KEYS",
    "S2S_SPEECH_URL",
    "S2S_SPEECH_API_KEY",
    "S2S_SPEECH_MODEL",
    "S2S_BACKEND_LOGIN_URL",
    "S2S_MCP_URL",
    "S2S_APIPILOT_TOOLS_URL",
    "S2S_APIPILOT_TOKEN",
    "S2S_BRAIN",
    "S2S_SERVICE_KEYS",
    "S2S_LLM_BASE_URL",
    "S2S_LLM_API_KEY",
    "S2S_LLM_MODEL",
    "GEMINI_API_KEY",
    "S2S_SERPER_API_KEY",
    "S2S_METRICS_TOKEN",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
)


def configured(environment: Mapping[str, str], written: Mapping[str, str]) -> Sequence[Finding]:
    """Each setting that matters; `written` is what the `.env` file says, which the environment wins over."""
    return [_finding(name, environment, written) for name in NAMES]


def written_in(file: Path) -> Mapping[str, str]:
    """Names and values of a `.env` file; nothing where there is none."""
    lines = file.read_text().splitlines() if file.is_file() else []
    pairs = (line.removeprefix("export ").partition("=") for line in map(str.strip, lines) if line[:1] != "#")
    return {name.strip(): value.strip().strip("\"'") for name, sign, value in pairs if sign}


def _finding(name: str, environment: Mapping[str, str], written: Mapping[str, str]) -> Finding:
    if environment.get(f"{name}_FILE"):
        return Finding(name, OK, f"set, from the file that {name}_FILE names")
    value = environment.get(name, "").strip()
    if not value:
        return Finding(name, SKIPPED, "not set")
    return Finding(name, OK, f"set, from {'.env' if written.get(name) == value else 'the environment'}")
