"""Two callers of one Vocero at one AquaPortal, at the same time: what is one's never comes to the other."""

import asyncio
from collections import defaultdict

import pytest

from conversations.models import Conversation, ToolCall
from conversations.tests.speech_events import Calls, Says
from conversations.tests.speech_script import told
from conversations.tests.stored import rows
from conversations.tests.talking import ADMINISTRATOR, MANAGER, Person
from tools.models import CatalogSnapshot

pytest_plugins = ("conversations.tests.deployment",)

SPOKEN = "response.output_audio_transcript.done"
CENTERS = ("north center", "south center", "east center")


class Caller:
    """Somebody with a call of their own, whose answers are kept."""

    def __init__(self, vocero, phone):
        self.phone = phone
        self.person = Person(vocero)

    async def asks(self, count, together):
        """So many questions, one after the other; `together` keeps the callers in step."""
        await self.person.bootstrap(phone=self.phone)
        async with self.person.talks() as talk:
            await talk.ready()
            for _ in range(count):
                await together.wait()
                await talk.types("What may I see?")
                await talk.shown("vocero.tool.completed")
                await talk.shown("vocero.tool.completed")
                await talk.shown(SPOKEN)
            await self.person.turns(count)


@pytest.mark.parametrize("switches", [{}, {"legacy_only": True}], ids=["2026-07-28", "2025-11-25"])
async def test_of_two_callers_at_one_server_nothing_crosses(vocero, speech, aquaportal, switches):
    """Their calls interleave: each token, each MCP session and each kept catalog is one caller's."""
    aquaportal.faults.switch(**switches)

    def reply(line):
        answered = len(told(line)) // 2 * 2
        asked = len([e for e in line.sent_of("conversation.item.create") if e["item"]["type"] == "message"])
        return (
            Says("Done.") if answered >= 2 * asked else Calls((("list_reports", {}), ("get_my_briefing", {})))
        )

    speech.reply = reply
    together = asyncio.Barrier(2)
    callers = [Caller(vocero, ADMINISTRATOR), Caller(vocero, MANAGER)]
    await asyncio.gather(*(caller.asks(4, together) for caller in callers))

    calls = aquaportal.calls()
    assert len(calls) == 2 * 4 * 2
    owners, sessions = defaultdict(set), defaultdict(set)
    for entry in aquaportal.requests:
        if entry.caller is not None and entry.token is not None:
            owners[entry.token].add(entry.caller)
        if entry.session is not None:
            sessions[entry.session].add(entry.token)
    assert sorted(map(sorted, owners.values())) == [[ADMINISTRATOR], [MANAGER]]
    assert all(len(tokens) == 1 for tokens in sessions.values())
    assert len(sessions) == (2 if switches else 0)
    order = [entry.caller for entry in calls]
    assert order not in (sorted(order), sorted(order, reverse=True)), "they were really interleaved"

    seen = [
        {center for center in CENTERS if any(center in text for text in told(line))} for line in speech.lines
    ]
    assert sorted(map(sorted, seen)) == [sorted(CENTERS), ["north center"]]

    snapshots = await rows(CatalogSnapshot)
    assert {row.caller_fingerprint for row in snapshots} == set(owners)
    conversations = await rows(Conversation)
    audited = {row.pk: set() for row in conversations}
    for row in await rows(ToolCall):
        audited[row.conversation_id].add(row.status)
    assert list(audited.values()) == [{"completed"}] * 2
