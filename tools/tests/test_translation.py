"""A translated schema accepts what the original accepts, and says nothing that its dialect cannot read."""

import json

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tools import schema as schemas
from tools.translation import COMPILED, DEEPEST, GEMINI, MOST_INSIDE, MOST_PARTS, translated

DIALECTS = {"gemini": GEMINI, "compiled": COMPILED}
NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 2.5, -3, "", "a", "2026-11-30", "zz"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
NOTES = st.fixed_dictionaries(
    {}, optional={"title": st.just("T"), "description": st.just("D"), "default": SCALARS}
)
NUMBERS = st.integers(-3, 3)


def typed(kind, **optional):
    return st.fixed_dictionaries({"type": st.just(kind)}, optional=optional)


def objects(inner):
    properties = st.dictionaries(NAMES, inner, max_size=3)
    return st.fixed_dictionaries(
        {"type": st.just("object"), "properties": properties},
        optional={
            "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
            "patternProperties": st.dictionaries(st.just("^a"), inner, max_size=1),
            "minProperties": st.integers(0, 1),
            "dependentRequired": st.just({"a": ["b"]}),
            "propertyNames": st.just({"maxLength": 3}),
            "unevaluatedProperties": st.just(False),
        },
    )


def arrays(inner):
    return typed(
        "array", items=inner, prefixItems=st.lists(inner, min_size=1, max_size=2), maxItems=st.integers(0, 3)
    )


LEAVES = st.one_of(
    st.booleans(),
    st.just({}),
    typed(
        "string",
        maxLength=st.integers(0, 3),
        pattern=st.just("^a"),
        format=st.sampled_from(["date", "email"]),
    ),
    typed("integer", minimum=NUMBERS, exclusiveMaximum=NUMBERS, multipleOf=st.just(2)),
    typed("number", exclusiveMinimum=NUMBERS, maximum=NUMBERS),
    typed("boolean"),
    typed("null"),
    st.fixed_dictionaries({"enum": st.lists(SCALARS, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"const": SCALARS}),
    typed("string", enum=st.lists(SCALARS, min_size=1, max_size=3)),
    st.sampled_from([["string", "null"], ["object", "null"], ["integer", "string"]]).map(
        lambda t: {"type": t}
    ),
    st.sampled_from([{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}, {"$ref": "#"}]),
)


def combined(inner):
    several = st.lists(inner, min_size=1, max_size=3)
    union = st.sampled_from(["anyOf", "oneOf", "allOf"]).flatmap(
        lambda name: st.fixed_dictionaries({name: several})
    )
    beside = st.sampled_from([{}, {"type": "object"}, {"type": "string"}, {"$ref": "#/$defs/one"}])
    conditions = st.fixed_dictionaries({"not": inner, "if": inner, "then": inner})
    return st.one_of(
        objects(inner),
        arrays(inner),
        st.tuples(beside, union).map(lambda pair: {**pair[0], **pair[1]}),
        conditions.map(lambda one: {"type": "string", **one}),
    )


def noted(schema):
    return NOTES.map(lambda notes: {**notes, **schema}) if isinstance(schema, dict) else st.just(schema)


PARTS = st.recursive(LEAVES, combined, max_leaves=8).flatmap(noted)
DRAFTS = st.sampled_from([{}, {"$schema": "http://json-schema.org/draft-07/schema#"}])


# A choice that is a mere reference to the whole sends the oracle round in circles.
CHOICES = st.fixed_dictionaries({}, optional={"anyOf": st.lists(objects(LEAVES), min_size=1, max_size=3)})


@st.composite
def tool_schemas(draw):
    root = {**draw(objects(PARTS)), **draw(CHOICES)}
    return {**draw(DRAFTS), **root, "$defs": {"one": draw(PARTS), "two": draw(objects(PARTS))}}


def oracle(schema):
    return jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)(schema)


def accepts(validator, value):
    """Whether it does; a reference that only refers to itself says nothing about any value."""
    try:
        return validator.is_valid(value)
    except RecursionError:
        assume(False)


def parts(told):
    yield told
    for one in told.get("properties", {}).values():
        yield from parts(one)
    for one in told.get("anyOf", ()):
        yield from parts(one)
    if "items" in told:
        yield from parts(told["items"])


@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    schema=tool_schemas(), values=st.lists(st.dictionaries(NAMES, VALUES, max_size=3), min_size=8, max_size=8)
)
def test_what_the_original_accepts_fits_the_translation(name, schema, values):
    try:
        told = translated(schema, DIALECTS[name])
    except schemas.SchemaRefused:
        assume(False)
    original, translation = oracle(schema), oracle(told)
    for value in values:
        if accepts(original, value):
            assert translation.is_valid(value), (schema, told, value)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(schema=tool_schemas())
def test_gemini_is_told_nothing_that_it_cannot_read(schema):
    try:
        told = translated(schema, GEMINI)
    except schemas.SchemaRefused:
        assume(False)
    known = GEMINI.keywords | {
        "type",
        "format",
        "enum",
        "anyOf",
        "properties",
        "required",
        "items",
    }
    for part in parts(told):
        assert set(part) <= known
        assert isinstance(part.get("type", ""), str)
        assert all(isinstance(value, str) and value for value in part.get("enum", ()))
        assert set(part.get("required", ())) <= set(part.get("properties", ()))
        assert "anyOf" not in part or set(part) <= {"anyOf", "description"}


def of(properties, dialect=GEMINI, **more):
    return translated({"type": "object", "properties": properties, **more}, dialect)["properties"]


@pytest.mark.parametrize("name", DIALECTS)
def test_choices_of_whole_arguments_are_told_by_their_properties(name):
    def choice(kind, closed, **properties):
        named = {"kind": {"const": kind}, **properties}
        return {
            "type": "object",
            "properties": named,
            "required": ["kind"],
            "additionalProperties": not closed,
        }

    cat = choice("cat", True, lives={"type": "integer", "description": "left"})
    dog = choice("dog", True, barks={"type": "boolean"})
    both = {
        "type": "object",
        "properties": {},
        "oneOf": [{"$ref": "#/$defs/cat"}, dog],
        "$defs": {"cat": cat},
    }
    told = translated(both, DIALECTS[name])["properties"]
    assert told["lives"] == {"type": "integer", "description": "left"}
    assert told["barks"] == {"type": "boolean"}
    assert [one["enum"] for one in told["kind"]["anyOf"]] == [["cat"], ["dog"]]
    open_dog = choice("dog", False, barks={"type": "boolean"})
    told = translated({**both, "oneOf": [cat, open_dog]}, DIALECTS[name])["properties"]
    assert told["lives"] == {"description": "left"}, "a dog may have lives of any kind"


@pytest.mark.parametrize("name", DIALECTS)
def test_a_schema_that_refers_to_itself_is_told_a_few_levels_deep(name):
    node = {
        "type": "object",
        "properties": {"name": {"type": "string"}, **{way: {"$ref": "#/$defs/node"} for way in "abc"}},
    }
    told = translated({**node, "$defs": {"node": node}}, DIALECTS[name])
    assert len(json.dumps(told)) < 10_000
    assert told["properties"]["c"]["properties"]["c"]["properties"]["name"] == {"type": "string"}


def test_a_format_is_told_of_the_type_that_gemini_knows_it_for():
    told = of(
        {"a": {"type": "string", "format": "int64"}, "b": {"type": ["string", "integer"], "format": "int64"}}
    )
    assert told["a"] == {"type": "string"}
    assert told["b"]["anyOf"] == [{"type": "string"}, {"type": "integer", "format": "int64"}]


def test_references_are_told_in_full_case_049():
    schema = {
        "type": "object",
        "properties": {"filter": {"$ref": "#/$defs/Filter"}},
        "$defs": {
            "Filter": {"type": "object", "properties": {"by": {"enum": ["cage", "date"]}}, "required": ["by"]}
        },
        "additionalProperties": False,
    }
    expected = {
        "type": "object",
        "properties": {"by": {"type": "string", "enum": ["cage", "date"]}},
        "required": ["by"],
    }
    for dialect in DIALECTS.values():
        assert translated(schema, dialect)["properties"]["filter"] == expected


def test_what_gemini_cannot_read_is_left_out_there_and_enforced_here_case_054():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "code": {"type": "string", "pattern": "^[A-Z]{2}$", "examples": ["AB"], "default": "AB"},
            "kind": {"const": "report"},
            "depth": {"type": "integer", "exclusiveMinimum": 0},
        },
    }
    assert translated(schema, GEMINI) == {
        "type": "object",
        "properties": {
            "code": {"type": "string"},
            "kind": {"type": "string", "enum": ["report"]},
            "depth": {"type": "integer", "minimum": 0},
        },
    }
    compiled = schemas.compiled(schema)
    assert schemas.validate(compiled, {"code": "AB", "kind": "report", "depth": 1}) is None
    for wrong in ({"code": "ab"}, {"kind": "other"}, {"depth": 0}, {"more": 1}):
        assert schemas.validate(compiled, wrong) is not None


def test_an_open_part_and_a_nullable_one_case_055():
    properties = {"value": True, "rows": {"type": "array", "items": {"type": ["object", "null"]}}}
    rows = {"type": "array", "items": {"anyOf": [{"type": "object", "properties": {}}, {"type": "null"}]}}
    assert of(properties) == {"value": {}, "rows": rows}
    compiled = schemas.compiled({"type": "object", "properties": properties})
    assert schemas.validate(compiled, {"value": [1, {"a": None}], "rows": [None, {}]}) is None


def test_numbers_to_choose_from_are_named_in_words():
    (level,) = of({"level": {"enum": [1, 2, 3], "description": "How deep."}}).values()
    assert level == {"type": "integer", "description": "How deep. One of: 1, 2, 3."}


def test_a_schema_that_refers_to_itself_ends():
    node = {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}}}
    told = translated(
        {"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}, GEMINI
    )
    assert sum(1 for _ in parts(told)) == MOST_INSIDE + 2


def test_what_is_nested_deeper_than_a_model_reads_is_told_by_its_type():
    deep = {"type": "object", "properties": {"a": {"type": "string"}}}
    for _ in range(2 * DEEPEST):
        deep = {"type": "object", "properties": {"a": deep}}
    assert sum(1 for _ in parts(translated(deep, GEMINI))) == DEEPEST + 1


@pytest.mark.parametrize("draft", ["http://json-schema.org/draft-07/schema#", ""])
def test_references_that_only_lead_in_a_circle_say_nothing(draft):
    circle = {"one": {"$ref": "#/$defs/two"}, "two": {"$ref": "#/$defs/one"}}
    assert of({"a": {"$ref": "#/$defs/one"}}, **{"$schema": draft}, **{"$defs": circle}) == {"a": {}}


def test_references_that_fan_out_are_cut_off():
    levels = {
        f"l{n}": {"type": "object", "properties": {str(i): {"$ref": f"#/$defs/l{n + 1}"} for i in range(10)}}
        for n in range(9)
    }
    levels["l9"] = {"type": "string"}
    told = translated(
        {"type": "object", "properties": {"top": {"$ref": "#/$defs/l0"}}, "$defs": levels}, GEMINI
    )
    assert sum(1 for _ in parts(told)) <= MOST_PARTS + 20 * DEEPEST


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "https://elsewhere.example/schema"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"type": "object", "properties": {"a": False}, "required": ["a"]},
        {"type": "string"},
    ],
)
def test_a_schema_that_cannot_be_told_is_refused(schema):
    with pytest.raises(schemas.SchemaRefused):
        translated(schema, GEMINI)
