"""A schema whose references fan out is refused, or bounds how deep a value may nest."""

import json

import pytest

from tools import schema, unfolding
from tools.schema import SchemaRefused

TEXT = {"type": "string"}


def fan(keyword, levels, leaf=TEXT):
    """Two references at every level: one place of a value is looked at 2 ** levels times."""
    halves = {
        f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}, {"title": "again", "$ref": f"#/$defs/d{n + 1}"}]}
        for n in range(levels)
    }
    return {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**halves, f"d{levels}": leaf}}


def nested(levels, value=1):
    for _ in range(levels):
        value = {"x": value}
    return value


def recursive(branches):
    """A node that describes its child so many times over."""
    branch = {"type": "object", "properties": {"x": {"$ref": "#/$defs/node"}}, "required": ["y"]}
    node = {"anyOf": [{**branch, "title": str(n)} for n in range(branches)]}
    return {"$defs": {"node": node}, "$ref": "#/$defs/node"}


@pytest.mark.parametrize("keyword", ["anyOf", "allOf", "oneOf"])
def test_references_that_fan_out_are_refused(keyword):
    with pytest.raises(SchemaRefused, match="unfold"):
        schema.compiled(fan(keyword, 40))


@pytest.mark.parametrize(
    "named",
    [
        {
            "$defs": {"n": {"$anchor": "n", "anyOf": [{"properties": {"x": {"$ref": "#n"}}}] * 40}},
            "$ref": "#n",
        },
        {"$id": "https://a.test/s", "anyOf": [{"items": {"$ref": "https://a.test/s"}}] * 40},
        {"items": [{"not": {"additionalProperties": {"$dynamicRef": "#"}}}] * 40},
    ],
    ids=lambda named: json.dumps(named)[:40],
)
def test_no_way_of_referring_goes_unnoticed(named):
    with pytest.raises(SchemaRefused, match="unfold"):
        schema.compiled(named)


@pytest.mark.parametrize("reference", ["#/$defs/nowhere", "#nowhere", "other.json", "#/$defs/a/7"])
def test_a_reference_that_leads_nowhere_is_refused(reference):
    with pytest.raises(SchemaRefused):
        schema.compiled({"$ref": reference, "$defs": {"a": {"allOf": [TEXT]}}})


def test_a_recursion_that_fans_out_bounds_the_value_and_never_takes_long():
    """Thirty levels of it would keep the process busy for minutes."""
    compiled = schema.compiled(recursive(2))
    assert "nested more than" in schema.validate(compiled, nested(30))
    assert "nested more than" not in schema.validate(compiled, nested(compiled.depth - 1))
    assert 4 <= compiled.depth <= 12


@pytest.mark.parametrize(
    "harmless",
    [
        {},
        True,
        {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "children": {"items": {"$ref": "#"}}}},
        {"$defs": {"a": TEXT}, "properties": {str(n): {"$ref": "#/$defs/a"} for n in range(300)}},
        {"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"anyOf": [TEXT, {"type": "null"}]}}},
    ],
    ids=lambda harmless: json.dumps(harmless)[:40],
)
def test_what_people_write_bounds_nothing_further(harmless):
    assert schema.compiled(harmless).depth == schema.DEEPEST_VALUE


def test_looks_are_counted_on_the_costliest_way_down():
    assert unfolding.depth_limit(fan("anyOf", 7), 64) == 64
    assert unfolding.depth_limit(fan("anyOf", 12), 64) == 0
    assert unfolding.depth_limit({"anyOf": [TEXT] * 2_000}, 64) == -1


def test_a_long_chain_of_references_is_refused_and_breaks_nothing():
    chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(1_500)}
    with pytest.raises(SchemaRefused):
        schema.compiled({"$ref": "#/$defs/d0", "$defs": {**chain, "d1500": TEXT}})
