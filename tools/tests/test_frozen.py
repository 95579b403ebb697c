"""What one conversation is given, another cannot spoil."""

import copy
import json
import pickle

import msgspec
import pytest

from tools.frozen import freeze, shared, thaw

VALUE = {"a": [1, {"b": None}], "c": {}}
CHANGES = {
    "set": lambda value: value.__setitem__("a", 1),
    "delete": lambda value: value.__delitem__("a"),
    "update": lambda value: value.update(a=1),
    "merge": lambda value: value.__ior__({"a": 1}),
    "pop": lambda value: value.pop("a"),
    "popitem": lambda value: value.popitem(),
    "setdefault": lambda value: value.setdefault("z", 1),
    "clear": lambda value: value.clear(),
    "append": lambda value: value["a"].append(1),
    "extend": lambda value: value["a"].extend([1]),
    "add": lambda value: value["a"].__iadd__([1]),
    "repeat": lambda value: value["a"].__imul__(2),
    "insert": lambda value: value["a"].insert(0, 1),
    "set item": lambda value: value["a"].__setitem__(0, 2),
    "delete item": lambda value: value["a"].__delitem__(0),
    "remove": lambda value: value["a"].remove(1),
    "reverse": lambda value: value["a"].reverse(),
    "sort": lambda value: value["a"].sort(),
    "inner": lambda value: value["a"][1].__setitem__("b", 1),
    "inner clear": lambda value: value["a"].clear(),
    "inner pop": lambda value: value["a"].pop(),
}


def test_equal_values_are_one_object_that_nobody_can_change():
    one, other = shared(VALUE), shared(json.loads(json.dumps(VALUE)))
    assert one is other
    assert one == freeze(VALUE)
    assert list(one) == list(VALUE)
    assert shared({"a": 1}) is not shared({"a": 1.0})
    with pytest.raises(TypeError):
        one["a"].append(1)


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_refused_case_179(change):
    frozen = freeze(VALUE)
    with pytest.raises(TypeError):
        CHANGES[change](frozen)
    assert frozen == VALUE


def test_it_equals_and_encodes_like_the_original():
    frozen = freeze(VALUE)
    assert frozen == VALUE
    assert json.dumps(frozen) == json.dumps(VALUE)
    assert msgspec.json.encode(frozen) == msgspec.json.encode(VALUE)
    assert freeze((1, "a")) == [1, "a"]


def test_a_thawed_or_deep_copy_can_be_changed():
    for plain in (thaw(freeze(VALUE)), copy.deepcopy(freeze(VALUE))):
        plain["a"][1]["b"] = 2
        assert plain["a"][1] == {"b": 2}
    assert copy.deepcopy(freeze([1])) == [1]


def test_the_original_is_not_shared():
    original = copy.deepcopy(VALUE)
    frozen = freeze(original)
    original["a"].append(2)
    assert frozen == VALUE


def test_a_pickled_one_stays_frozen():
    again = pickle.loads(pickle.dumps(freeze(VALUE)))
    assert again == VALUE
    with pytest.raises(TypeError):
        again.clear()
