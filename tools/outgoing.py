"""Plain HTTP to a service of the operator's: no redirects, no proxies, checked addresses, bounded bodies."""

from __future__ import annotations

import ssl
from functools import cache

import httpx2

from tools.addresses import Connect

# Objects and arrays in one answer: reading them holds up every other conversation.
MAX_PARTS = 50_000
CONNECT_SECONDS = 3.0
# Below the keep-alive of common servers (5 s), or requests meet connections that the server is just closing.
KEEPALIVE_SECONDS = 4.0


class TooLarge(ValueError):
    """An answer that is not read to its end."""


def client(connect: Connect) -> httpx2.AsyncClient:
    """A client without a deadline of its own beyond connecting: whoever uses it sets one.

    `connect` makes the transport that judges where an address leads.
    """
    limits = httpx2.Limits(max_connections=8, max_keepalive_connections=2, keepalive_expiry=KEEPALIVE_SECONDS)

    def make() -> httpx2.AsyncBaseTransport:
        return httpx2.AsyncHTTPTransport(verify=_ssl_context(), trust_env=False, limits=limits)

    timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
    return httpx2.AsyncClient(
        transport=connect(make), trust_env=False, follow_redirects=False, timeout=timeout
    )


async def body(response: httpx2.Response, limit: int) -> bytes:
    """The body as it comes, at most `limit` bytes; TooLarge beyond them, and for a compressed one.

    A few compressed bytes could unfold into megabytes.
    """
    found, parts = bytearray(), 0
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise TooLarge("compressed")
    async for chunk in response.aiter_raw():
        found += chunk
        parts += chunk.count(b"{") + chunk.count(b"[")
        if len(found) > limit or parts > MAX_PARTS:
            raise TooLarge("too large")
    return bytes(found)


@cache
def _ssl_context() -> ssl.SSLContext:
    """One for all clients: each of its own would cost 20 ms and 830 KiB."""
    return httpx2.create_ssl_context(trust_env=False)
