"""Where a service may be reached: its name is resolved, checked, and connected to as it was checked.

Checking a name and letting the connection resolve it once more would leave the last word to its nameserver.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import httpx2

Kind = Literal["public", "private", "barred"]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Make = Callable[[], httpx2.AsyncBaseTransport]
Connect = Callable[[Make], httpx2.AsyncBaseTransport]
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
COMPATIBLE = ipaddress.IPv6Network("::/96")
PORTS = {"http": 80, "https": 443}


class AddressRefused(httpx2.ConnectError):
    """The name leads only to addresses that it must not lead to; nothing was sent."""


def kind_of(address: str) -> Kind:
    """What an address is; IPv4 inside IPv6 counts as itself. Raises ValueError for what is no address."""
    ip = _bare(ipaddress.ip_address(address))
    if ip.is_link_local or ip.is_multicast or ip.is_unspecified:
        return "barred"
    local = isinstance(ip, ipaddress.IPv6Address) and ip.is_site_local
    return "public" if ip.is_global and not local else "private"


def is_address(host: str) -> bool:
    """Whether the host of a URL is an address itself, so that nothing has to be resolved."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def resolved(host: str, port: int) -> Sequence[str]:
    """The addresses of a name, as this machine resolves it. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


@dataclass(slots=True)
class _Way:
    """How one host is reached: a transport of its own, and the addresses that were checked."""

    inner: httpx2.AsyncBaseTransport
    addresses: tuple[str, ...] = ()


class Pinned(httpx2.AsyncBaseTransport):
    """Connects to the operator's URLs at addresses that were checked, and keeps to those while they answer.

    An address in the URL itself is taken as it is, a name may lead to a private network. What is refused,
    unless `allow_private`: names that lead to link-local addresses, and names that were public and turn
    private. `make` gives the transport of one host: connections are never shared between hosts. `were_public`
    remembers such names, also for a later one of this kind that is given the same set.
    """

    def __init__(
        self,
        make: Make,
        allow_private: bool = False,
        resolve: Resolve = resolved,
        were_public: set[str] | None = None,
    ) -> None:
        self._make, self._allow_private, self._resolve = make, allow_private, resolve
        self._were_public = set[str]() if were_public is None else were_public
        self._ways: dict[str, _Way] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends the request to the first checked address that takes the connection."""
        host = request.url.host
        way = self._ways.get(host)
        if way is None:
            way = self._ways[host] = _Way(self._make())
        if not way.addresses:
            way.addresses = await self._checked(request.url)
        failure: httpx2.TransportError | None = None
        for address in way.addresses:
            try:
                response = await way.inner.handle_async_request(_addressed(request, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
            else:
                way.addresses = (address, *(other for other in way.addresses if other != address))
                return response
        way.addresses = ()
        raise failure or httpx2.ConnectError("no address")

    async def aclose(self) -> None:
        """Closes the connections to every host."""
        for way in self._ways.values():
            await way.inner.aclose()

    async def _checked(self, url: httpx2.URL) -> tuple[str, ...]:
        if is_address(url.host):
            return (url.host,)
        try:
            found = await self._resolve(url.host, url.port or PORTS[url.scheme])
        except (OSError, UnicodeError) as error:
            raise httpx2.ConnectError("the name cannot be resolved") from error
        public = tuple(address for address in found if kind_of(address) == "public")
        private = tuple(address for address in found if kind_of(address) == "private")
        if self._allow_private:
            return tuple(found)
        # A name with an address on the open network has no business on this one.
        if public:
            self._were_public.add(url.host)
        allowed = public if url.host in self._were_public else private
        if not allowed:
            raise AddressRefused("the name leads to an address that is not allowed")
        return allowed


def _addressed(request: httpx2.Request, address: str) -> httpx2.Request:
    """The same request to this address; its Host header and its TLS name stay those of the URL."""
    extensions = {**request.extensions, "sni_hostname": request.url.host}
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions=extensions,
    )


def _bare(ip: Address) -> Address:
    """The IPv4 address that an IPv6 one carries, or the address itself, without its zone."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    carried = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
    if carried is not None:
        return carried
    number = int(ip)
    if ip in NAT64 or (ip in COMPATIBLE and number > 1):
        return ipaddress.IPv4Address(number & 0xFFFFFFFF)
    return ipaddress.IPv6Address(number)
