"""Value types as data, and whether what was written as one can be read as another: as the decoders themselves say."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict

import msgspec
import pydantic
import pytest

from headrace import Topology, key_value_store
from headrace.processor import Processor
from headrace.serdes.json import JsonSerde
from headrace.serdes.types import describe_type
from headrace.topology import Level, compare
from headrace.topology.upgrade.types import type_changes


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class OnlyRed(enum.Enum):
    RED = "red"


@dataclass
class Item:
    name: str
    price: int


@dataclass
class DearItem:
    name: str
    price: float


@dataclass
class NamedItem:
    name: str


@dataclass
class Basic:
    id: str
    items: list[Item] = field(default_factory=list)


class Tree(msgspec.Struct):
    name: str
    children: list[Tree] = []


class Alias(msgspec.Struct, rename="camel"):
    first_name: str
    last_name: str = ""


class Camel(msgspec.Struct):
    firstName: str
    lastName: str = ""


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    id: str


class Row(msgspec.Struct, array_like=True):
    a: int
    b: str


class LongerRow(msgspec.Struct, array_like=True):
    a: int
    b: str
    c: float = 0.0


class Model(pydantic.BaseModel):
    id: str = pydantic.Field(alias="Id")
    items: list[Item]
    note: str | None = None


class ModelWithMore(pydantic.BaseModel):
    id: str = pydantic.Field(alias="Id")
    items: list[Item]
    note: str | None = None
    more: int = 3


class Typed(TypedDict):
    id: str
    note: NotRequired[str]


def record(**fields: Any) -> Any:
    """A dataclass of these fields; a tuple has a default, too."""
    spec = [(n, k) if not isinstance(k, tuple) else (n, k[0], field(default=k[1])) for n, k in fields.items()]
    return msgspec.defstruct("Order", [s if len(s) == 2 else (s[0], s[1], s[2].default) for s in spec])


def test_types_become_data() -> None:
    assert describe_type(Basic) == {
        "record": "Basic",
        "fields": [
            {"name": "id", "type": "string", "required": True},
            {
                "name": "items",
                "type": {
                    "list": {
                        "record": "Item",
                        "fields": [
                            {"name": "name", "type": "string", "required": True},
                            {"name": "price", "type": "integer", "required": True},
                        ],
                    }
                },
                "required": False,
            },
        ],
    }
    assert describe_type(Tree)["fields"][1]["type"] == {"list": {"ref": "Tree"}}  # type: ignore[index]
    assert [f["name"] for f in describe_type(Alias)["fields"]] == ["firstName", "lastName"]  # type: ignore[index]
    fields = describe_type(Model)["fields"]  # type: ignore[index]
    assert [(f["name"], f["required"]) for f in fields] == [("Id", True), ("items", True), ("note", False)]
    assert fields[1]["type"]["list"]["record"] == "Item"
    assert describe_type(Typed)["fields"][1] == {"name": "note", "type": "string", "required": False}  # type: ignore[index]
    assert describe_type(Color) == {"enum": "Color", "values": ["red", "blue"]}
    assert describe_type(dict[str, int]) == {"dict": ["string", "integer"]}
    assert describe_type(Literal["a", "b"]) == {"literal": ["a", "b"]}


CASES = {
    "a new field with a default": (record(a=int), record(a=int, b=(str, "")), True, "has a default"),
    "a new field without one": (record(a=int), record(a=int, b=str), False, "has no default"),
    "a removed field": (record(a=int, b=str), record(a=int), False, "the field was removed"),
    "a renamed field": (record(a=int, b=str), record(a=int, c=(str, "")), False, "`c` has its type"),
    "a retyped field": (record(a=int), record(a=str), False, "integer became string: what was written"),
    "a wider number": (record(a=int), record(a=float), True, "integer became number, which can hold it"),
    "a narrower number": (record(a=float), record(a=int), False, "number became integer"),
    "a value that may be missing": (record(a=int), record(a=int | None), True, "null may come, too"),
    "one that must be there": (record(a=int | None), record(a=int), False, "null was written before"),
    "a default that is gone": (record(a=(int, 1)), record(a=int), False, "it had a default and has none now"),
    "an item of a list": (record(a=list[Item]), record(a=list[DearItem]), True, "a[].price"),
    "a shorter item of a list": (record(a=list[Item]), record(a=list[NamedItem]), False, "a[].price"),
    "a value of a dict": (record(a=dict[str, int]), record(a=dict[str, str]), False, "a{}"),
    "a nested record": (record(a=Item), record(a=DearItem), True, "a.price"),
    "more choices": (record(a=OnlyRed), record(a=Color), True, "'blue' may come, too"),
    "fewer choices": (record(a=Color), record(a=OnlyRed), False, "'blue' can no longer be read"),
    "a literal for an enum": (record(a=OnlyRed), record(a=Literal["red", "green"]), True, "'green'"),
    "a text for an enum": (record(a=Color), record(a=str), True, "which can hold it"),
    "an enum for a text": (record(a=str), record(a=Color), False, "string became Color"),
    "a text or a number": (record(a=int), record(a=int | str), True, "string may come, too"),
    "a number only": (record(a=int | str), record(a=int), False, "string became integer"),
    "anything": (record(a=int), record(a=Any), True, "may now be anything"),
    "something of anything": (record(a=Any), record(a=int), False, "any became integer"),
    "other names in Python": (Camel, Alias, True, None),
    "a strict reader": (record(id=str, b=int), Strict, False, "what was written with it is refused"),
    "by position, longer": (Row, LongerRow, True, "c"),
    "by position, shorter": (LongerRow, Row, False, "c"),
    "a model with more": (Model, ModelWithMore, True, "more"),
    "a model with less": (ModelWithMore, Model, False, "more"),
    "a TypedDict for a record": (record(id=str), Typed, True, "note"),
    "a record for any dict": (record(id=str), dict[str, Any], True, "may now have any fields"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_safe_and_why(case: str) -> None:
    old, new, safe, told = CASES[case]
    found = list(type_changes(describe_type(old), describe_type(new)))
    assert all(change.safe for change in found) == safe
    if told is None:
        assert not found
    else:
        assert any(told in f"{change.path}: {change.message}" for change in found)
    assert all(change.fix for change in found if not change.safe and "became" not in change.message)


READ = {
    "a new field with a default": record(a=int)(1),
    "a new field without one": record(a=int)(1),
    "a retyped field": record(a=int)(1),
    "a wider number": record(a=int)(1),
    "a narrower number": record(a=float)(1.5),
    "one that must be there": record(a=int | None)(None),
    "an item of a list": record(a=list[Item])([Item("x", 1)]),
    "a value of a dict": record(a=dict[str, int])({"x": 1}),
    "more choices": record(a=OnlyRed)(OnlyRed.RED),
    "fewer choices": record(a=Color)(Color.BLUE),
    "a text for an enum": record(a=Color)(Color.BLUE),
    "an enum for a text": record(a=str)("green"),
    "a strict reader": record(id=str, b=int)("x", 1),
    "by position, longer": Row(1, "b"),
    "a model with more": Model(Id="x", items=[]),
}


@pytest.mark.parametrize("case", READ)
def test_the_decoder_agrees(case: str) -> None:
    """What is called safe can be read, and what is not cannot."""
    old, new, safe, _ = CASES[case]
    written = JsonSerde(old).serialize(READ[case])
    if safe:
        JsonSerde(new).deserialize(written)
    else:
        with pytest.raises((msgspec.ValidationError, pydantic.ValidationError)):
            JsonSerde(new).deserialize(written)


def test_a_store_tells_the_field() -> None:
    def of(kind: Any) -> Topology:
        topology = Topology().add_source("in", "a", value=str)
        return topology.add_processor("work", Processor, "in", stores=[key_value_store("orders", value=kind)])

    found = compare(of(Basic), of(record(id=str)))
    assert found.level is Level.RESET
    assert "store `orders`: value field `items`: the field was removed" in str(found)
    assert "fix: keep it, with a default" in str(found)
