"""Which page may open a socket: scheme, host and port are compared, never the host alone."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_ORIGIN = re.compile(r"(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?", re.ASCII)
_PORTS = {"http": 80, "https": 443}

Origin = tuple[str, str, int]


def allowed(
    origin: str | None,
    host: str,
    secure: bool,
    kind: str,
    allowed_origins: tuple[str, ...],
    public_url: str = "",
) -> bool:
    """Whether a socket of `kind` `cookie` or `secret` may come from this `Origin` header.

    `host` and `secure` are those of the request itself, `allowed_origins` those of S2S_ALLOWED_ORIGINS.
    """
    listed = {parsed(entry) for entry in allowed_origins}
    if kind == "secret" and not listed:
        return True
    page = parsed(origin)
    if page is None:
        return False
    own = {parsed(f"{'https' if secure else 'http'}://{host}"), parsed(origin_of(public_url))}
    return page in listed | own


def parsed(origin: str | None) -> Origin | None:
    """Scheme, host in lower case and port of an origin; None where it is not exactly one."""
    match = _ORIGIN.fullmatch((origin or "").lower())
    if match is None:
        return None
    scheme, host, port = match.groups()
    return scheme, host, int(port) if port else _PORTS[scheme]


def origin_of(url: str) -> str:
    """The origin of a configured address; empty for an empty one."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if url else ""
