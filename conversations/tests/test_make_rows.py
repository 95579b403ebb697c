"""`manage.py make_rows`: made-up calls, only where they do no harm."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db.models import Count
from django.utils import timezone

from conversations.madeup import LIVE, Amounts, Maker
from conversations.models import BackendToken, Conversation, ToolCall, Turn, UpstreamSession
from conversations.tests import operators as make
from tools.contract import FAILURE_CODES
from tools.models import CatalogSnapshot

# VACUUM runs in no transaction.
pytestmark = pytest.mark.django_db(transaction=True)


def make_rows(*words, **options):
    out = StringIO()
    call_command("make_rows", *words, stdout=out, **options)
    return out.getvalue()


def test_nothing_is_made_unless_it_is_said():
    with pytest.raises(CommandError, match="--yes-fill-this-database"):
        make_rows("--conversations", "5")
    assert not Conversation.objects.exists()


def test_made_up_rows_never_come_among_real_ones():
    real = make.conversation()
    with pytest.raises(CommandError, match="empty database"):
        make_rows("--yes-fill-this-database", "--conversations", "5")
    assert Conversation.objects.get() == real


def test_nonsense_is_refused():
    with pytest.raises(CommandError, match="at least 1"):
        make_rows("--yes-fill-this-database", "--conversations", "0")


def test_as_many_rows_are_made_as_were_asked_for_and_the_largest_conversation():
    amounts = ("--conversations", "120", "--turns", "300", "--tool-calls", "1000", "--largest", "400")
    said = make_rows("--yes-fill-this-database", *amounts)
    assert said.startswith("1,000 tool calls made in ")
    assert (Conversation.objects.count(), ToolCall.objects.count()) == (120, 1_000)
    assert BackendToken.objects.count() == UpstreamSession.objects.count() == 120
    # The largest has more turns than its share: a turn uses few tools.
    assert Turn.objects.count() == 300 - 2 + 51
    assert ToolCall.objects.values("conversation").annotate(n=Count("pk")).order_by("-n")[0]["n"] == 405
    assert CatalogSnapshot.objects.exists()


def test_made_up_rows_are_spread_like_real_ones_and_hang_together():
    make_rows("--yes-fill-this-database", "--conversations", "150", "--tool-calls", "2000")
    assert Conversation.objects.filter(state="open").count() == LIVE
    assert {*Conversation.objects.values_list("close_reason", flat=True)} > {"", "idle", "caller_cleanup"}
    codes = {*ToolCall.objects.values_list("code", flat=True)}
    assert {"", "timeout"} < codes <= {"", *FAILURE_CODES}
    assert ToolCall.objects.filter(status="failed").exclude(ref="").exists()
    for call in ToolCall.objects.select_related("turn")[:50]:
        assert call.turn.conversation_id == call.conversation_id
        assert call.turn.started_at < call.started_at
    oldest = Conversation.objects.order_by("opened_at").first()
    assert timedelta(days=200) < timezone.now() - oldest.opened_at < timedelta(days=366)


def test_a_seed_makes_the_same_rows_again():
    now = timezone.now()
    amounts = Amounts(conversations=5, turns=10, tool_calls=20)
    first, second = ([*Maker(amounts, now).batches()] for _ in range(2))
    assert first == second
    assert first != [*Maker(Amounts(conversations=5, turns=10, tool_calls=20, seed=2), now).batches()]
