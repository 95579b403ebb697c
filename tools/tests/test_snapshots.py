"""Listings in the database: one row for each source and credential, readable as they were written."""

from dataclasses import replace
from datetime import timedelta
from unittest import mock

import pytest
from django.db import DatabaseError

from tools.catalog import Listing, digest_of, discover
from tools.contract import ToolFailure
from tools.models import CatalogSnapshot
from tools.snapshots import SnapshotCache
from tools.testing import NOW, MemorySource, a_caller, a_tool, answers

pytestmark = pytest.mark.django_db(transaction=True)

TOOLS = (
    a_tool("get_report", {"type": "object", "x-null": None}, output_schema={"type": "object"}),
    a_tool("b"),
)
LISTING = Listing(
    "aquaportal", "f" * 64, TOOLS, (("odd", "Why."),), digest_of(TOOLS), NOW, NOW + timedelta(seconds=300)
)


async def test_a_listing_is_read_as_it_was_written():
    cache = SnapshotCache(300)
    assert await cache.get("aquaportal", "f" * 64) is None
    await cache.put(LISTING)
    assert await cache.get("aquaportal", "f" * 64) == LISTING
    assert await cache.get("aquaportal", "e" * 64) is None
    assert await cache.get("other", "f" * 64) is None


async def test_a_newer_listing_takes_the_place_of_the_older():
    cache = SnapshotCache(300)
    await cache.put(LISTING)
    newer = replace(LISTING, tools=TOOLS[:1], refused=())
    await cache.put(newer)
    assert await cache.get("aquaportal", "f" * 64) == newer
    assert await CatalogSnapshot.objects.acount() == 1


async def test_what_was_offered_before_stays_beside_what_is_offered_now():
    cache, later = SnapshotCache(300), NOW + timedelta(minutes=5)
    await cache.put(LISTING)
    await cache.put(replace(LISTING, fetched_at=later))
    assert (await CatalogSnapshot.objects.aget()).previous_tools is None, "the same tools are no change"
    fewer = replace(LISTING, tools=TOOLS[:1], digest=digest_of(TOOLS[:1]), fetched_at=later)
    await cache.put(fewer)
    await cache.put(replace(fewer, fetched_at=later + timedelta(minutes=5)))
    row = await CatalogSnapshot.objects.aget()
    assert [tool["name"] for tool in row.previous_tools] == ["get_report", "b"]
    assert [tool["name"] for tool in row.tools] == ["get_report"]
    assert row.changed_at == later


async def test_after_a_discovery_that_never_worked_the_first_tools_are_no_change():
    cache = SnapshotCache(300)
    await cache.put(replace(LISTING, tools=(), refused=(), digest="", error="unavailable"))
    await cache.put(LISTING)
    assert (await CatalogSnapshot.objects.aget()).changed_at is None


async def test_tools_that_come_to_a_caller_who_had_none_are_a_change():
    cache = SnapshotCache(300)
    await cache.put(replace(LISTING, tools=(), digest=""))
    await cache.put(LISTING)
    assert (await CatalogSnapshot.objects.aget()).previous_tools == []


async def test_a_failure_marks_the_row_and_keeps_the_tools_for_the_operator():
    cache = SnapshotCache(300)
    await cache.put(LISTING)
    await cache.put(replace(LISTING, tools=(), refused=(), digest="", error="unavailable", expires_at=NOW))
    kept = await cache.get("aquaportal", "f" * 64)
    assert (kept.error, kept.tools) == ("unavailable", TOOLS)
    await cache.put(LISTING)
    assert (await cache.get("aquaportal", "f" * 64)).error == ""


async def test_a_discovery_is_shared_by_way_of_the_row():
    source = MemorySource((a_tool("a"), answers(1)))
    one = await discover([source], a_caller(), None, SnapshotCache(300), NOW)
    other = await discover([source], a_caller(), None, SnapshotCache(300), NOW)
    assert source.listed == 1
    assert one == other
    row = await CatalogSnapshot.objects.aget()
    assert a_caller().token not in str(row.__dict__)


async def test_a_failed_discovery_is_told_in_the_row():
    source = MemorySource((a_tool("a"), answers(1)))
    source.failure = ToolFailure("timeout", "slow")
    await discover([source], a_caller(), None, SnapshotCache(300), NOW)
    assert (await CatalogSnapshot.objects.aget()).last_error == "timeout"


async def test_a_database_out_of_order_costs_the_cache_and_not_the_call():
    source = MemorySource((a_tool("a"), answers(1)))
    with mock.patch.object(CatalogSnapshot.objects, "get_queryset", side_effect=DatabaseError("gone")):
        offer = await discover([source], a_caller(), None, SnapshotCache(300), NOW)
    assert [tool.name for tool in offer.tools] == ["a"]
