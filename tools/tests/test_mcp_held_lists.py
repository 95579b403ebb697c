"""A list of tools is not held by the connection that it came over."""

import asyncio

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

from tools.sources.mcp.listing import DECLARED, _Mending


class Stream:
    """What a transport reads, one message after the other."""

    def __init__(self, *messages):
        self._messages = asyncio.Queue()
        for message in messages:
            self._messages.put_nowait(SessionMessage(message))

    async def __anext__(self):
        return await self._messages.get()

    receive = __anext__


def answer(number, **result):
    return JSONRPCResponse(jsonrpc="2.0", id=number, result=result)


async def test_a_list_is_let_go_once_the_next_message_is_waited_for():
    tool = {"name": "get_report", "inputSchema": {"type": "object"}}
    stream = _Mending(Stream(answer(1, tools=[tool]), answer(2, content=[])))
    listed = (await anext(stream)).message
    result = listed.result
    assert result["tools"][0]["name"] == "get_report"
    other = (await stream.receive()).message
    assert listed.result == {}
    assert result["tools"][0]["name"] == "get_report"
    assert other.result == {"content": []}


async def test_the_client_is_told_no_output_schema_which_it_would_keep():
    promised = {"type": "object", "title": "Report"}
    tool = {"name": "get_report", "inputSchema": {"type": "object"}, "outputSchema": promised}
    stream = _Mending(Stream(answer(1, tools=[tool])))
    listed = (await anext(stream)).message.result["tools"][0]
    assert "outputSchema" not in listed
    assert listed["_meta"][DECLARED]["output_schema"] == promised
