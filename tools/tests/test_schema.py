"""A schema is checked once, compiled once, reaches nowhere, and says what is wrong with a value."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from referencing import Registry

from tools import schema
from tools.schema import MAX_BYTES, MAX_DEPTH, SchemaRefused
from tools.tests.fault_server import fault_server

NESTED = {
    "type": "object",
    "required": ["request"],
    "additionalProperties": False,
    "properties": {"request": {"$ref": "#/$defs/Request"}},
    "$defs": {
        "Request": {
            "type": "object",
            "required": ["metric"],
            "additionalProperties": False,
            "properties": {
                "metric": {"enum": ["oxygen", "salinity"]},
                "days": {"type": "integer", "minimum": 1, "maximum": 30},
                "since": {"anyOf": [{"type": "string", "pattern": "^\\d{4}-"}, {"const": "today"}]},
                "account": {"type": "string"},
            },
        }
    },
}
ARGUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 40) | st.sampled_from(["oxygen", "today", "2026-01", "x"]),
    lambda inner: (
        st.dictionaries(
            st.sampled_from(["request", "metric", "days", "since", "account", "other"]), inner, max_size=4
        )
        | st.lists(inner, max_size=2)
    ),
    max_leaves=8,
)


def problem(value, wanted=NESTED):
    return schema.validate(schema.compiled(wanted), value)


def deep(levels):
    value = {}
    for _ in range(levels):
        value = {"not": value}
    return value


@given(ARGUMENTS)
def test_accepts_exactly_what_jsonschema_accepts(value):
    oracle = jsonschema.Draft202012Validator(NESTED, registry=Registry())
    assert (problem(value) is None) == oracle.is_valid(value)


@pytest.mark.parametrize(
    ("value", "field", "words"),
    [
        ({"request": {}}, "request", '"metric" is a required property'),
        ({"request": {"metric": "mood"}}, "request.metric", 'not one of "oxygen" or "salinity"'),
        ({"request": {"metric": "oxygen", "days": "five"}}, "request.days", 'not of type "integer"'),
        ({"request": {"metric": "oxygen", "days": "5"}}, "request.days", 'not of type "integer"'),
        ({"request": {"metric": "oxygen", "days": True}}, "request.days", 'not of type "integer"'),
        ({"request": {"metric": "oxygen", "days": 31}}, "request.days", "greater than the maximum of 30"),
        ({"request": {"metric": "oxygen", "extra": 1}}, "request", "'extra' was unexpected"),
    ],
)
def test_a_problem_names_field_and_fault_case_057_069(value, field, words):
    text = problem(value)
    assert text.startswith(f"{field}: ")
    assert words in text


@pytest.mark.parametrize("text", ["00123", "1e5", "true", "null", "2024-01-01"])
def test_text_that_looks_like_something_else_stays_text_case_058(text):
    assert problem({"request": {"metric": "oxygen", "account": text}}) is None


def test_a_problem_does_not_repeat_what_was_sent():
    private = "a very private thing " * 200
    text = problem({"request": {"metric": private, "days": private, "since": private}})
    assert "private" not in text
    assert text.count(";") == 2
    assert len(problem({"x" * 90: private} | {f"{'y' * 90}{n}": 1 for n in range(50)})) <= schema.MAX_SENTENCE


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "strin"},
        {"type": "object", "properties": {"a": {"type": 5}}},
        {"properties": []},
        {"required": "a"},
        {"$ref": "#/$defs/nowhere"},
        {"$schema": "https://schemas.test/unknown"},
        {"properties": {"a": {"pattern": "["}}},
        {"properties": {"a": {"pattern": "^(?=a)"}}},
    ],
    ids=str,
)
def test_a_broken_schema_is_refused_with_a_reason_case_052(broken):
    with pytest.raises(SchemaRefused) as caught:
        schema.compiled(broken)
    assert 20 < len(str(caught.value)) <= 240


@pytest.mark.parametrize(
    "wanted", [{}, True, {"type": "object"}, NESTED, {"properties": {"a": True}}], ids=str
)
def test_what_jsonschema_checks_compiles(wanted):
    jsonschema.Draft202012Validator.check_schema(wanted)
    assert schema.compiled(wanted)


def test_an_older_draft_is_read_as_its_own():
    wanted = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "integer"}]}
    assert problem(["a"], wanted)
    assert problem([1, "a"], wanted) is None


async def test_a_reference_elsewhere_is_refused_and_not_fetched():
    async with fault_server() as server:
        for reference in (server.url, "file:///etc/passwd", "https://schemas.test/a.json"):
            with pytest.raises(SchemaRefused):
                schema.compiled({"properties": {"a": {"$ref": reference}}})
        assert server.connections == 0


def test_size_and_depth_are_bounded():
    schema.compiled(deep(MAX_DEPTH - 1))
    with pytest.raises(SchemaRefused, match="deep"):
        schema.compiled(deep(MAX_DEPTH + 1))
    with pytest.raises(SchemaRefused, match="deep"):
        schema.compiled(deep(100_000))
    with pytest.raises(SchemaRefused, match="64 KB"):
        schema.compiled({"description": "x" * MAX_BYTES})
    with pytest.raises(SchemaRefused, match="not JSON"):
        schema.compiled({"default": float("nan")})


def test_a_hostile_pattern_costs_no_time():
    assert problem({"a": "a" * 5000 + "!"}, {"properties": {"a": {"pattern": "^(a+)+$"}}})


def test_one_schema_is_compiled_once_whatever_its_key_order():
    one, other = {"type": "object", "title": "T"}, {"title": "T", "type": "object"}
    assert schema.compiled(one) is schema.compiled(other)


@pytest.mark.parametrize("odd", [{}, {"type": "object"}, {"type": ["object"]}], ids=str)
def test_an_odd_schema_is_declared_as_an_object_case_070(odd):
    assert schema.declared(odd) == {"type": "object", "properties": {}}


def test_a_declared_schema_keeps_everything_else_case_049():
    assert schema.declared(NESTED | {"x-unit": None}) == NESTED | {"x-unit": None}


@pytest.mark.parametrize(
    "odd", [None, True, [], "object", False, {"type": "array"}, {"type": ["object", "null"]}], ids=str
)
def test_a_schema_of_no_object_is_refused(odd):
    with pytest.raises(SchemaRefused):
        schema.declared(odd)


def test_a_digest_is_blind_to_order_and_nulls_and_to_nothing_else():
    assert schema.digest_of({"a": 1, "b": {"c": None}}) == schema.digest_of({"b": {}, "a": 1, "d": None})
    assert schema.digest_of({"a": 1}) != schema.digest_of({"a": "1"})
    assert schema.digest_of([1, 2]) != schema.digest_of([2, 1])


@given(st.integers(0, 20), st.integers(0, 20))
def test_depth_is_counted_in_levels(levels, limit):
    assert schema.depth_exceeds(json.loads("[" * levels + "]" * levels) if levels else 1, limit) == (
        levels > limit
    )
