"""JSON for every kind of model, and what `serde_for` makes of a type."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated, Any, NewType, Optional

import msgspec
import pydantic
import pytest
from serde_models import Address, Colour, HoldsHandle, Household, Order, Payment, Person, Point, Tree

from headrace.errors import MissingSerdeError
from headrace.record import Windowed
from headrace.serdes import JsonSerde, Serde, Serdes, serde_for

ADDRESS = Address(street="Rue", houseNumber=3)
MODELS: list[tuple[Any, object, object]] = [
    (Order, Order("a", 1.5, ["x"]), {"customer": "a", "amount": 1.5, "tags": ["x"]}),
    (Payment, Payment("a", 150), {"customer": "a", "cents": 150, "at": None}),
    (Address, ADDRESS, {"street": "Rue", "houseNumber": 3}),
    (Person, {"name": "a", "age": 3}, {"name": "a", "age": 3}),
    (Point, Point(1.0, 2.0), [1.0, 2.0]),
    (Colour, Colour.RED, "red"),
    (
        Household,
        Household(ADDRESS, [{"name": "a", "age": 3}]),
        {"address": {"street": "Rue", "houseNumber": 3}, "people": [{"name": "a", "age": 3}]},
    ),
    (Tree, Tree(1, [Tree(2, [])]), {"value": 1, "children": [{"value": 2, "children": []}]}),
    (dict, {"a": [1, None]}, {"a": [1, None]}),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (list, [1, "a"], [1, "a"]),
    (list[Order], [Order("a", 1.0)], [{"customer": "a", "amount": 1.0, "tags": []}]),
    (list[Address], [ADDRESS], [{"street": "Rue", "houseNumber": 3}]),
    (tuple[int, str], (1, "a"), [1, "a"]),
    (dt.date, dt.date(2024, 1, 2), "2024-01-02"),
    (int | str, "a", "a"),
]


@pytest.mark.parametrize(("kind", "value", "plain"), MODELS, ids=lambda item: getattr(item, "__name__", ""))
def test_a_model_is_written_as_json_and_read_back(kind: Any, value: object, plain: object) -> None:
    serde = serde_for(kind)
    data = serde.serialize(value)
    assert json.loads(data) == plain
    assert serde.deserialize(data) == value


@pytest.mark.parametrize(("kind", "value", "plain"), MODELS, ids=lambda item: getattr(item, "__name__", ""))
def test_a_json_serde_survives_pickling(kind: Any, value: object, plain: object) -> None:
    serde = pickle.loads(pickle.dumps(serde_for(kind)))
    assert serde == serde_for(kind)
    assert serde.deserialize(serde.serialize(value)) == value


def test_no_python_runs_between_the_caller_and_the_codec() -> None:
    serde = serde_for(Payment)
    assert isinstance(getattr(serde.deserialize, "__self__", None), msgspec.json.Decoder)
    assert isinstance(getattr(serde.serialize, "__self__", None), msgspec.json.Encoder)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (Order, b'{"customer": "a"}'),
        (Order, b'{"customer": "a", "amount": "many"}'),
        (Order, b"not json"),
        (Address, b'{"street": "Rue", "houseNumber": -1}'),
        (dict, b"[]"),
    ],
)
def test_what_does_not_fit_the_model_is_refused(kind: type, data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        serde_for(kind).deserialize(data)


def test_a_model_that_was_given_a_wrong_value_is_refused_by_pydantic() -> None:
    with pytest.raises(ValueError, match="Expected `Address`"):
        serde_for(Address).serialize({"street": "Rue"})  # type: ignore[arg-type]


def test_a_value_that_json_cannot_hold_is_refused_and_named() -> None:
    with pytest.raises(TypeError, match="of type `object`"):
        serde_for(dict).serialize({"a": object()})


def test_decorations_of_a_type_do_not_matter() -> None:
    UserId = NewType("UserId", str)
    assert serde_for(UserId) is Serdes.string()
    assert serde_for(Optional[int]) is Serdes.long()  # noqa: UP045
    assert serde_for(int | None) is Serdes.long()
    assert serde_for(Annotated[float, "metres"]) is Serdes.double()
    assert serde_for(None) is Serdes.void()


def test_a_serde_is_taken_as_it_is() -> None:
    serde: Serde[str] = Serde.of(str.encode, lambda data: data.decode())
    assert serde_for(serde) is serde


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (object, "no serde for `object`: make it a dataclass"),
        (Any, "no serde for"),
        (5, "expected a type or a serde, got 5"),
        ([1], r"expected a type or a serde, got \[1\]"),
        (JsonSerde, r"got its class `JsonSerde`: write `JsonSerde\(\)`"),
        (Windowed, "does not say its window"),
        (Windowed[str], "does not say its window"),
        (HoldsHandle, "because it holds `Handle`"),
    ],
)
def test_an_unknown_type_is_refused_with_the_fix_and_the_users_line(source: Any, message: str) -> None:
    with pytest.raises(MissingSerdeError, match=message) as caught:
        serde_for(source)
    assert caught.value.origin is not None
    assert caught.value.origin.file == __file__


def test_a_model_whose_fields_cannot_be_resolved_is_refused_when_the_topology_is_built() -> None:
    class Inner(pydantic.BaseModel):
        x: int

    @dataclass
    class Outer:
        inner: Inner

    with pytest.raises(MissingSerdeError, match="top level of a module"):
        serde_for(Outer)


def test_pydantic_is_not_imported_for_those_who_do_not_use_it() -> None:
    program = (
        "import sys\n"
        "from dataclasses import dataclass\n"
        "from headrace.serdes import serde_for\n"
        "@dataclass\n"
        "class A:\n"
        "    x: int\n"
        "serde_for(A).serialize(A(1))\n"
        "print('pydantic' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
