"""What a caller may use is discovered for the credential, cached, screened and frozen."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from tools import catalog, executor, schema
from tools.contract import ToolFailure
from tools.naming import alias
from tools.testing import NOW, MemoryCache, MemorySource, a_caller, a_context, a_tool, answers

HOSTILE = {"properties": {"a": {"$ref": "http://169.254.169.254/"}}}


def a_source(*names, source="memory", **schemas):
    tools = [(a_tool(name, schemas.get(name, {})), answers({"from": source, "tool": name})) for name in names]
    return MemorySource(*tools, name=source)


async def discover(*sources, allowed=None, caller=None, cache=None, now=NOW):
    return await catalog.discover(sources, caller or a_caller(), allowed, cache or MemoryCache(), now)


def names(offer):
    return [tool.name for tool in offer.tools]


async def test_only_allowed_names_are_offered_or_run():
    source = a_source("list_reports", "delete_everything", "List_Reports", "list_reports2")
    offer = await discover(source, allowed=["list_reports", "get_report"])
    assert names(offer) == ["list_reports"]
    assert {name for name, _ in offer.refused} == {"delete_everything", "List_Reports", "list_reports2"}
    outcome = await executor.run(offer, "delete_everything", "{}", a_context(), 64_000)
    assert outcome.code == "unknown_tool"
    assert source.calls == []


async def test_one_bad_tool_costs_only_itself_case_052():
    offer = await discover(a_source("good", "broken", "hostile", broken={"type": 5}, hostile=HOSTILE))
    assert names(offer) == ["good"]
    assert [name for name, _ in offer.refused] == ["broken", "hostile"]
    assert all(len(reason) > 20 for _, reason in offer.refused)


@pytest.mark.parametrize("name", ["", "x" * 129])
async def test_a_name_that_is_none_is_refused(name):
    offer = await discover(a_source(name, "good"))
    assert names(offer) == ["good"]
    assert offer.refused[0][0] == name


async def test_of_two_tools_that_the_model_would_know_by_one_name_the_second_is_refused():
    offer = await discover(a_source("a/b", alias("a/b")))
    assert names(offer) == ["a/b"]
    assert [name for name, _ in offer.refused] == [alias("a/b")]


async def test_a_broken_output_schema_costs_its_check_only():
    source = MemorySource((a_tool("report", output_schema={"type": 5}), answers({"a": 1})))
    offer = await discover(source)
    assert names(offer) == ["report"]
    assert (await executor.run(offer, "report", "{}", a_context(), 64_000)).status == "completed"


async def test_an_empty_schema_is_declared_as_an_object_case_070():
    offer = await discover(a_source("plain"))
    assert offer.find("plain").parameters == {"type": "object", "properties": {}}


async def test_a_name_that_two_sources_have_belongs_to_the_first_case_093():
    first, second = a_source("search", source="a"), a_source("search", "other", source="b")
    offer = await discover(first, second)
    assert names(offer) == ["search", "other"]
    assert offer.source_of("search") is first
    assert offer.refused == (("search", "Another source has a tool of this name."),)


async def test_a_name_that_one_source_lists_twice_is_offered_once():
    offer = await discover(a_source("search", "search"))
    assert names(offer) == ["search"]
    assert offer.refused == (("search", "The source lists two tools of this name."),)


async def test_a_source_that_is_down_never_lends_its_names_to_another_case_093():
    down, other = a_source("search", source="a"), a_source("search_all", source="b")
    down.failure = ToolFailure("unavailable", "down")
    offer = await discover(down, other)
    assert (await executor.run(offer, "search", "{}", a_context(), 64_000)).code == "unknown_tool"
    assert other.calls == []


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("unauthorized", "AquaPortal no longer accepts this sign-in."),
        ("forbidden", "AquaPortal does not offer its tools to this caller."),
        ("unavailable", "AquaPortal cannot be reached."),
        ("connection_lost", "AquaPortal cannot be reached."),
        ("timeout", "AquaPortal cannot be reached."),
        ("tool_error", "AquaPortal gave an answer that cannot be used."),
    ],
)
async def test_a_source_that_fails_says_so_and_leaves_the_others_case_097(code, sentence):
    broken, good = a_source("a", source="aquaportal"), a_source("b", source="other")
    broken.failure = ToolFailure(code, "a sentence for the model")
    offer = await discover(broken, good)
    assert offer.error == sentence
    assert offer.unauthorized == (code == "unauthorized")
    assert names(offer) == ["b"]


async def test_a_good_discovery_has_no_error():
    offer = await discover(a_source("a"))
    assert (offer.error, offer.unauthorized) == ("", False)
    nothing = await discover()
    assert (nothing.tools, nothing.digest) == ((), "")


async def test_a_listing_is_kept_for_its_time_and_then_read_again():
    source, cache = a_source("a"), MemoryCache(ttl=300)
    await discover(source, cache=cache)
    await discover(source, cache=cache, now=NOW + timedelta(seconds=299))
    assert source.listed == 1
    await discover(source, cache=cache, now=NOW + timedelta(seconds=300))
    assert source.listed == 2


async def test_a_failure_is_not_kept():
    source, cache = a_source("a"), MemoryCache()
    source.failure = ToolFailure("unavailable", "down")
    assert (await discover(source, cache=cache)).error
    source.failure = None
    assert names(await discover(source, cache=cache)) == ["a"]


async def test_each_credential_has_its_own_listing_case_179():
    cache = MemoryCache()
    admin, user = a_source("a", "b"), a_source("a")
    await discover(admin, cache=cache, caller=a_caller("admin"))
    assert names(await discover(user, cache=cache, caller=a_caller("user"))) == ["a"]
    renewed = a_caller("admin", "another token")
    assert names(await discover(user, cache=cache, caller=renewed)) == ["a"], "a renewed token is asked again"


async def test_the_allow_list_holds_for_kept_listings_too():
    source, cache = a_source("a", "b"), MemoryCache()
    await discover(source, cache=cache, allowed=["a", "b"])
    offer = await discover(source, cache=cache, allowed=["a"])
    assert names(offer) == ["a"]
    assert source.listed == 1


async def test_what_one_conversation_does_to_its_offer_reaches_no_other_case_179():
    schema = {"type": "object", "properties": {"request": {"type": "object"}}}
    source, cache = a_source("a", a=schema), MemoryCache()
    one, other = await discover(source, cache=cache), await discover(source, cache=cache)
    with pytest.raises(TypeError):
        one.find("a").parameters["properties"]["request"]["type"] = "string"
    with pytest.raises(TypeError):
        one.entries["b"] = one.entries["a"]
    schema["properties"].clear()
    assert other.find("a").parameters["properties"] == {"request": {"type": "object"}}


async def test_the_digest_tells_whether_the_tools_are_the_same():
    one = await discover(a_source("a", "b"))
    assert one.digest == (await discover(a_source("b", "a"))).digest
    assert one.digest == (await discover(a_source("a", "b", a={"default": None}))).digest
    assert one.digest != (await discover(a_source("a"))).digest
    assert one.digest != (await discover(a_source("a", "b", a={"title": "A"}))).digest


async def test_a_source_that_lists_too_much_is_cut():
    cache = MemoryCache()
    offer = await discover(a_source(*(f"tool_{number}" for number in range(300))), cache=cache)
    assert len(offer.tools) == catalog.MAX_TOOLS
    [listing] = cache.listings.values()
    assert ("tool_299", "The source lists too many tools.") in listing.refused


async def test_a_description_that_would_fill_every_session_costs_its_tool_and_is_not_kept():
    cache, wordy = MemoryCache(), a_tool("wordy")
    wordy = replace(wordy, description="x" * (catalog.MAX_DESCRIPTION + 1))
    offer = await discover(MemorySource((wordy, answers(1)), (a_tool("good"), answers(1))), cache=cache)
    assert names(offer) == ["good"]
    [listing] = cache.listings.values()
    assert [tool.name for tool in listing.tools] == ["good"]
    assert listing.refused == (("wordy", "Its description is longer than 8,000 characters."),)


def nested(levels):
    value = {"type": "string"}
    for _ in range(levels):
        value = {"properties": {"a": value}}
    return value


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "half \ud800"},
        {"name": "nul \x00"},
        {"description": "half \ud800"},
        {"description": "nul \x00"},
        {"parameters": {"properties": {"a": {"description": "nul \x00"}}}},
        {"parameters": {"properties": {"a": {"maximum": float("inf")}}}},
        {"parameters": nested(240)},
        {"output_schema": {"title": "half \ud800"}},
        {"output_schema": nested(240)},
        {"parameters": {"title": "x" * 3 * schema.MAX_BYTES}},
    ],
)
async def test_what_no_database_keeps_and_no_request_carries_costs_its_tool_and_is_not_kept(fields):
    odd, cache = replace(a_tool("odd"), **fields), MemoryCache()
    offer = await discover(MemorySource((odd, answers(1)), (a_tool("good"), answers(1))), cache=cache)
    assert names(offer) == ["good"]
    [listing] = cache.listings.values()
    assert [tool.name for tool in listing.tools] == ["good"]
    [(name, reason)] = listing.refused
    assert offer.refused == listing.refused
    json.dumps([name, reason], ensure_ascii=False).encode()
    assert "\x00" not in name
    assert len(reason) > 20
