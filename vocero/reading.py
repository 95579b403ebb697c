"""One setting at a time: read from a mapping, typed, refused with its name where it cannot be used."""

from __future__ import annotations

import base64
import difflib
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from tools.sources.apipilot.paths import PLACEHOLDER

_OURS = "S2S_"


class Reader:
    """Reads one setting at a time; a secret may also come from the file that `<NAME>_FILE` names."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._env = environ.FileAwareEnv()
        self._env.ENVIRON = environ.fileaware_mapping.FileAwareMapping(env=dict(environment))
        self._there = frozenset(environment)
        self._asked: set[str] = set()

    def unasked(self) -> dict[str, str]:
        """Names like Vocero's that are there and that nobody read, each with the nearest that was read."""
        known = {name for asked in self._asked for name in (asked, f"{asked}_FILE")}
        names = sorted(name for name in self._there - known if name.startswith(_OURS))
        return {name: "".join(difflib.get_close_matches(name, sorted(known), n=1)) for name in names}

    def text(self, name: str, default: str = "") -> str:
        self._asked.add(name)
        try:
            return str(self._env.str(name, default=default)).strip()
        except OSError as error:
            raise refusal(name, f"the file that {name}_FILE names cannot be read") from error

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.text(name).lower()
        if value in ("", "true", "1", "yes", "on", "false", "0", "no", "off"):
            return default if not value else value in ("true", "1", "yes", "on")
        raise refusal(name, "write true or false")

    def whole(self, name: str, default: int, low: int = 1, high: int = 10**9) -> int:
        return int(self.number(name, default, low, high, whole=True))

    def number(self, name: str, default: float, low: float, high: float, whole: bool = False) -> float:
        raw = self.text(name)
        try:
            value = (int(raw) if whole else float(raw)) if raw else default
        except ValueError as error:
            raise refusal(name, f"write a {'whole ' if whole else ''}number") from error
        if not low <= value <= high:
            raise refusal(name, f"it must lie between {low} and {high}")
        return value

    def names(self, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        raw = self.text(name)
        return tuple(part.strip() for part in raw.split(",") if part.strip()) if raw else default

    def one_of(self, name: str, choices: tuple[str, ...], default: str) -> str:
        value = self.text(name) or default
        if value not in choices:
            raise refusal(name, f"it must be one of {', '.join(choices)}")
        return value

    def url(self, name: str, schemes: tuple[str, ...]) -> str:
        value = self.text(name)
        return checked_url(name, value, schemes) if value else ""

    def template(self, name: str, schemes: tuple[str, ...]) -> str:
        value = self.url(name, schemes)
        parts = urlsplit(value)
        bare = PLACEHOLDER.sub("", parts.path)
        if set("{}") & set(bare + parts.netloc + parts.query + parts.fragment):
            raise refusal(name, "placeholders such as {name} may stand in the path only")
        return value

    def origin(self, name: str) -> str:
        value = self.text(name)
        return checked_origin(name, value) if value else ""

    def origins(self, name: str, wild: bool = False) -> tuple[str, ...]:
        """Origins, separated by commas; a `*` in one is refused where it would stand for nothing."""
        origins = tuple(checked_origin(name, origin) for origin in self.names(name))
        if not wild and any("*" in origin for origin in origins):
            raise refusal(name, "write each origin in full, without a *")
        return origins

    def database(self, name: str) -> dict[str, Any]:
        raw = self._env.str(name, default="").strip() or "sqlite:///var/vocero.sqlite3"
        mend = "write postgres://user:password@host/name or sqlite:///file"
        # Another scheme would only be warned about, with the password in the warning.
        if raw.partition(":")[0] not in ("postgres", "postgresql", "sqlite"):
            raise refusal(name, mend)
        try:
            return dict(environ.Env.db_url_config(raw))
        except (ValueError, ImproperlyConfigured, environ.ImproperlyConfigured) as error:
            raise refusal(name, mend) from error

    def labels(self, name: str) -> Mapping[str, Mapping[str, str]]:
        raw = self.text(name)
        try:
            value = json.loads(raw) if raw else {}
        except ValueError as error:
            raise refusal(name, 'write JSON: {"en": {"get_report": "What callers read"}}') from error
        shaped = isinstance(value, dict) and all(isinstance(labels, dict) for labels in value.values())
        if not shaped or not all(isinstance(t, str) for labels in value.values() for t in labels.values()):
            raise refusal(name, 'write JSON: {"en": {"get_report": "What callers read"}}')
        return value


def refusal(name: str, mend: str) -> ImproperlyConfigured:
    """The error for a setting that cannot be used; it never repeats the value."""
    return ImproperlyConfigured(f"{name} is not usable: {mend}.")


def checked_url(name: str, value: str, schemes: tuple[str, ...]) -> str:
    """The address itself, when it is absolute, of an allowed scheme and free of credentials."""
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError as error:
        raise refusal(name, "it is not an address") from error
    if parts.scheme not in schemes or not parts.hostname:
        raise refusal(name, f"write an absolute address with {' or '.join(s + '://' for s in schemes)}")
    if parts.username or parts.password:
        raise refusal(name, "an address must not carry credentials")
    return value


def checked_origin(name: str, value: str) -> str:
    """`scheme://host[:port]` in lower case, without a path."""
    parts = urlsplit(checked_url(name, value, ("http", "https")))
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise refusal(name, "an origin has no path, only scheme, host and port")
    return f"{parts.scheme}://{parts.netloc}".lower()


def checked_key(name: str, value: str) -> str:
    """The key itself, when it is a Fernet key: 32 bytes in URL-safe base64."""
    try:
        raw = base64.urlsafe_b64decode(value)
    except ValueError as error:
        raise refusal(name, "each key must be a Fernet key, 32 bytes in URL-safe base64") from error
    if len(raw) != 32:
        raise refusal(name, "each key must be a Fernet key, 32 bytes in URL-safe base64")
    return value


def checked_token(name: str, value: str) -> str:
    """The token itself, when it can follow `Bearer ` in a header; empty is none."""
    if not re.fullmatch(r"[\x21-\x7e]{0,8192}", value):
        raise refusal(name, "a token is one word of visible ASCII characters")
    return value
