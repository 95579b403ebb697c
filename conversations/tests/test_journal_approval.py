"""The caller's approval in the record: on a row that is open, and committed before the tool runs."""

import time
import uuid

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from conversations.core.records import CallApproved
from conversations.journal import Journal, NotRecorded
from conversations.models import ToolCall
from conversations.tests.rows import ADA, opened, running_call, running_turn

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def journal():
    journal = Journal(retry_delays=(0.0, 0.0))
    yield journal
    await journal.aclose()


@sync_to_async
def open_call():
    return running_call(running_turn(opened(ADA)))


async def test_an_approval_stands_in_the_row_with_its_time(journal):
    call = await open_call()
    at = time.time()
    await journal.commit(CallApproved(str(call.pk), at))
    await sync_to_async(call.refresh_from_db)()
    assert call.approved_at.timestamp() == pytest.approx(at, abs=0.001)
    assert call.status == ToolCall.Status.RUNNING


async def test_a_call_whose_row_is_closed_or_missing_cannot_be_approved(journal):
    call = await open_call()
    closed = ToolCall.objects.filter(pk=call.pk)
    await sync_to_async(closed.update)(status="failed", code="connection_lost", ended_at=timezone.now())
    for call_id in (str(call.pk), str(uuid.uuid4())):
        with pytest.raises(NotRecorded):
            await journal.commit(CallApproved(call_id, time.time()))
    await sync_to_async(call.refresh_from_db)()
    assert call.approved_at is None
