"""What a record leaves in its row."""

import time
import uuid

import pytest

from conversations import rows
from conversations.core.records import TurnClosed, TurnOpened, TurnTroubled
from conversations.models import Turn
from conversations.tests.rows import ADA, opened

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_reference_of_trouble_in_a_turn_is_kept_through_its_end():
    turn_id, now = str(uuid.uuid4()), time.time()
    records = (
        TurnOpened(turn_id, str(opened(ADA).pk), 1, "voice", now),
        TurnTroubled(turn_id, "invalid_value", "ABCDEFG"),
        TurnTroubled(turn_id, "another", "HJKLMNP"),
        TurnClosed(turn_id, "done", "How many?", "Eight.", now),
    )
    assert rows.write(records) == [True] * 4
    kept = Turn.objects.get(pk=turn_id)
    assert (kept.outcome, kept.code, kept.ref) == ("done", "invalid_value", "ABCDEFG")
