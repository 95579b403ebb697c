"""The source: one HTTP client of one conversation, which lists tools and runs them for its caller."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tools import outgoing
from tools.addresses import Connect, Pinned
from tools.contract import CallContext, Caller, Tool, ToolFailure, ToolResult
from tools.sources.apipilot import envelope
from tools.sources.apipilot.envelope import BridgeFailure
from tools.sources.apipilot.paths import PathRefused, filled

MAX_BODY = 2_000_000
DISCOVERY_SECONDS = 10.0
_HEADER = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,8190}[\x21-\x7e])?")


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the bridge is, from settings alone; the path of `execute` may hold placeholders.

    `{name}` stands for the tool's name, any other for the argument of that name.
    """

    tools: str
    execute: str
    connect: Connect = Pinned


@dataclass(frozen=True, slots=True)
class Credential:
    """On whose behalf the bridge is asked, as it goes out: whole header values, empty where there is none."""

    authorization: str = field(default="", repr=False)
    demo_session: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return bool(self.authorization or self.demo_session)

    @property
    def sendable(self) -> bool:
        """Whether the values can be headers: printable, bounded, without line breaks."""
        return all(_HEADER.fullmatch(value) for value in (self.authorization, self.demo_session) if value)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over both values, in hex."""
        return hashlib.sha256(f"{self.authorization}\n{self.demo_session}".encode()).hexdigest()

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not come back in anybody's words."""
        _, _, bare = self.authorization.partition(" ")
        return tuple(value for value in (self.authorization, bare, self.demo_session) if value)

    def headers(self) -> dict[str, str]:
        """The headers of a request; raises BridgeFailure for a value that would break out of its line."""
        if not self.sendable:
            raise BridgeFailure("unauthorized")
        named = {"Authorization": self.authorization, "x-demo-session": self.demo_session}
        return {name: value for name, value in named.items() if value}


class ApiPilotSource:
    """A ToolSource over the bridge. It serves one caller, with their token as bearer or `forwarded` instead.

    Where there is no credential, tools that need one are not listed; with `everything` all of them are.
    """

    name = envelope.NAME

    def __init__(
        self, endpoints: Endpoints, forwarded: Credential | None = None, everything: bool = False
    ) -> None:
        self._endpoints, self._forwarded, self._everything = endpoints, forwarded, everything
        self._caller: Caller | None = None
        self._client: httpx2.AsyncClient | None = None
        self._closed = False

    async def tools(self, caller: Caller) -> Sequence[Tool]:
        """The tools that the bridge lists for this caller; or ToolFailure."""
        credential = self._serve(caller)
        flag = "true" if self._everything else "false"
        address = httpx2.URL(self._endpoints.tools).copy_set_param("include_unauthorized", flag)
        try:
            async with asyncio.timeout(DISCOVERY_SECONDS):
                data = await self._asked("GET", str(address), credential)
        except TimeoutError as error:
            raise BridgeFailure("timeout") from error
        listed = envelope.tools_in(data)
        return [tool for tool in listed if self._everything or credential or not tool.requires_auth]

    async def call(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        """Runs the tool; what it says about its own failure is a result, all else a ToolFailure.

        A bridge cannot be told to stop, so `context.on_untold` hears of every cancelled call.
        """
        try:
            return ToolResult(await self.execute(name, arguments, context))
        except BridgeFailure as failure:
            if not failure.said:
                raise
            return ToolResult(failure.message, is_error=True)

    async def execute(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> Any:
        """The tool's data, or BridgeFailure with all that the bridge said."""
        credential = self._serve(context.caller)
        body = {"name": name, "arguments": dict(arguments)}
        try:
            address = filled(self._endpoints.execute, {**arguments, "name": name})
        except PathRefused as error:
            raise BridgeFailure("invalid_arguments", str(error)) from error
        try:
            return await self._asked("POST", address, credential, body)
        except asyncio.CancelledError:
            context.on_untold()
            raise

    async def aclose(self) -> None:
        """Closes the connections for good; a later use is a ToolFailure."""
        self._closed = True
        if self._client is not None:
            await self._client.aclose()

    def _serve(self, caller: Caller) -> Credential:
        """The caller's credential; another caller never comes to this connection."""
        if self._closed:
            raise ToolFailure("unavailable", "The conversation is over.")
        if self._caller is not None and self._caller.user_id != caller.user_id:
            raise BridgeFailure("internal")
        self._caller = caller
        if self._forwarded is not None:
            return self._forwarded
        return Credential(f"Bearer {caller.token}" if caller.token else "")

    async def _asked(self, method: str, address: str, credential: Credential, body: Any = None) -> Any:
        headers = {**credential.headers(), "Accept": "application/json", "Accept-Encoding": "identity"}
        if self._client is None:
            self._client = outgoing.client(self._endpoints.connect)
        request = self._client.build_request(method, address, headers=headers, json=body)
        try:
            response = await self._client.send(request, stream=True)
            try:
                answer = b"" if response.is_redirect else await outgoing.body(response, MAX_BODY)
            finally:
                await response.aclose()
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise BridgeFailure("unavailable") from error
        except httpx2.TimeoutException as error:
            raise BridgeFailure("timeout") from error
        except httpx2.HTTPError as error:
            raise BridgeFailure("connection_lost") from error
        except outgoing.TooLarge as error:
            raise BridgeFailure("tool_error", envelope.TOO_LARGE, response.status_code) from error
        return envelope.opened(response.status_code, answer, credential.secrets)
