"""Tools asked for anew: which kept catalogs end, and which live calls are told."""

from datetime import timedelta

import pytest
from django.utils import timezone

from conversations import lifecycle, nudging, refreshing, toolbox
from conversations.models import Conversation
from conversations.refreshing import Refreshed
from conversations.tests.rows import ADA, MARA, OWNER, ago, changed, opened
from tools.listings import SharedListings, forget
from tools.models import CatalogSnapshot
from tools.tests.test_snapshots import LISTING

pytestmark = pytest.mark.django_db


def live(identity):
    row = opened(identity)
    lifecycle.claim(str(row.pk), OWNER)
    return row


def kept(identity, **values):
    now = timezone.now()
    times = {"fetched_at": now, "expires_at": now + timedelta(minutes=5)}
    fingerprint = getattr(identity, "fingerprint", identity)
    return CatalogSnapshot.objects.create(
        source="aquaportal", caller_fingerprint=fingerprint, **{**times, **values}
    )


def stale():
    return {row.pk for row in Conversation.objects.filter(tools_stale=True)}


def test_a_refresh_for_all_ends_every_catalog_and_tells_every_live_call_case_196():
    calls = {live(ADA).pk, live(MARA).pk}
    opened(ADA)
    rows = [kept(ADA), kept(MARA), kept("e" * 64, expires_at=ago(hours=1))]
    assert refreshing.concerned() == Refreshed(2, 2)
    assert stale() == set()
    assert refreshing.refresh() == Refreshed(2, 2)
    assert stale() == calls
    assert not CatalogSnapshot.objects.filter(expires_at__gt=timezone.now()).exists()
    rows[2].refresh_from_db()
    assert rows[2].expires_at < ago(minutes=59), "one that had ended keeps its age"


def test_a_refresh_for_one_credential_leaves_the_others_alone():
    call = live(ADA)
    live(MARA)
    kept(ADA)
    other = kept(MARA)
    assert refreshing.refresh([ADA.fingerprint]) == Refreshed(1, 1)
    other.refresh_from_db()
    assert stale() == {call.pk}
    assert other.expires_at > timezone.now()


def test_a_call_of_a_process_that_died_is_not_counted_among_the_live():
    changed(live(ADA), lease_expires_at=ago(seconds=1))
    assert refreshing.refresh() == Refreshed(0, 0)


def test_callers_without_a_login_share_the_services_credential():
    row = live(None)
    changed(row, mode="apipilot")
    live(ADA)
    assert refreshing.refresh([toolbox.service().fingerprint]) == Refreshed(0, 1)
    assert stale() == {row.pk}


@pytest.mark.parametrize(("most", "told"), [(2, 2), (1, 0)])
def test_a_crowd_is_not_told_in_one_moment(monkeypatch, django_capture_on_commit_callbacks, most, told):
    nudged = []
    monkeypatch.setattr(refreshing, "MOST_NUDGED", most)
    monkeypatch.setattr(nudging, "nudge", lambda *ids: nudged.extend(ids))
    live(ADA)
    live(MARA)
    with django_capture_on_commit_callbacks(execute=True):
        assert refreshing.refresh().calls == 2
    assert len(nudged) == told


@pytest.mark.asyncio
async def test_what_was_listed_over_http_before_a_refresh_is_good_no_more_case_196():
    shared = SharedListings(300, "own")
    await shared.put(LISTING)
    assert await shared.get(LISTING.source, LISTING.fingerprint) == LISTING
    forget(LISTING.fetched_at)
    assert (await shared.get(LISTING.source, LISTING.fingerprint), shared.hit) == (None, False)
    forget(LISTING.fetched_at - timedelta(seconds=1))
    assert await shared.get(LISTING.source, LISTING.fingerprint) == LISTING
