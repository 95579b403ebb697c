"""Lists of tools in which an odd entry costs only itself: the SDK refuses the whole list for one of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import structlog
from mcp.client import Transport
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

log = structlog.get_logger(__name__)

# Where a mended entry keeps what the server declared, for whoever judges it.
DECLARED = "vocero/declared"
MAX_NAME = 200

Item = SessionMessage | Exception


@asynccontextmanager
async def tolerant(transport: Transport) -> AsyncIterator[tuple[Any, Any]]:
    """The transport's streams, every listed tool on them in a form that the SDK takes."""
    async with transport as (read, write):
        yield _Mending(read), write


class _Mending:
    """A read stream that mends lists of tools as they come."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._list: JSONRPCResponse | None = None

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Item:
        self._let_go()
        return self._given(await self._inner.receive())

    def _given(self, item: Item) -> Item:
        mended = _mended(item)
        if mended is not None:
            self._list = mended
        return item

    def _let_go(self) -> None:
        """Whoever reads keeps the last message; a list that was taken from it is not kept with it."""
        if self._list is not None:
            self._list.result, self._list = {}, None

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        self._let_go()
        return self._given(await anext(self._inner))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _mended(item: Item) -> JSONRPCResponse | None:
    """The message, if it is a list of tools, with its entries mended."""
    if not isinstance(item, SessionMessage) or not isinstance(item.message, JSONRPCResponse):
        return None
    result = item.message.result
    tools = result.get("tools")
    if not isinstance(tools, list) or "content" in result:
        return None
    item.message.result = result | {"tools": [_acceptable(tool) for tool in tools]}
    return item.message


def _acceptable(tool: Any) -> dict[str, Any]:
    """The entry with what is used of it, what the SDK would refuse kept aside."""
    entry = tool if isinstance(tool, dict) else {}
    if (reason := find_invalid_x_mcp_header(entry.get("inputSchema"))) is not None:
        # The SDK would leave it out without a word; without a schema it is refused by name.
        log.warning(
            "mcp.header_annotation_invalid", tool=str(entry.get("name", ""))[:MAX_NAME], reason=reason
        )
        entry = {**entry, "inputSchema": None}
    declared = {"parameters": entry.get("inputSchema"), "output_schema": entry.get("outputSchema")}
    texts = {key: entry[key] for key in ("description", "title") if isinstance(entry.get(key), str)}
    schema = entry.get("inputSchema")
    # No output schema: the client would keep it as long as it lives, and here it checks no result.
    return {
        "name": str(entry.get("name", ""))[:MAX_NAME],
        "inputSchema": schema if _is_object_schema(schema) else {"type": "object"},
        "_meta": {DECLARED: declared},
    } | texts


def _is_object_schema(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "object"
