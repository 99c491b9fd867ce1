"""Values of undeclared types carry their type's name, and can only become what the user's modules define."""

from __future__ import annotations

import datetime as dt
import os
import pickle
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serde_models import Address, Colour, Handle, HoldsHandle, Household, Order, Payment, Point

from headrace import serdes
from headrace.record import Windowed
from headrace.serdes import TaggedSerde

SERDE = TaggedSerde()

scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text()
keys = st.text() | st.integers(-9, 9) | st.tuples(st.integers(-9, 9), st.text())
values = st.recursive(
    scalars | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(keys, inner)
        | st.tuples(inner, inner)
        | st.frozensets(keys)
        | st.sets(st.text())
    ),
    max_leaves=12,
)


@given(values)
def test_plain_values_come_back_equal_and_of_the_same_type(value: object) -> None:
    back = SERDE.deserialize(SERDE.serialize(value))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        Order("a", float("inf"), ["x"]),
        Payment("a", 1, dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
        Address(street="Rue", houseNumber=3),
        Household(Address(street="Rue", houseNumber=3), []),
        Point(1.0, 2.0),
        Colour.RED,
        Windowed(("a", 1), 0, 10),
        [Order("a", 1.0), {"b": Point(0.0, 0.0)}],
        {Point(1.0, 2.0): (Colour.RED,)},
        dt.datetime(2024, 1, 1, 12, 30),
        dt.date(2024, 1, 1),
        dt.timedelta(seconds=90),
        Decimal("1.50"),
        UUID(int=7),
    ],
    ids=lambda value: type(value).__name__,
)
def test_models_and_what_holds_them_come_back(value: object) -> None:
    back = SERDE.deserialize(SERDE.serialize(value))
    assert back == value
    assert type(back) is type(value)


def test_equal_sets_have_equal_bytes() -> None:
    assert SERDE.serialize({"a", "b", "c", "d"}) == SERDE.serialize({"d", "c", "b", "a"})


def test_it_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(SERDE)).deserialize(SERDE.serialize(Point(1.0, 2.0))) == Point(1.0, 2.0)


def test_what_has_no_form_of_its_own_is_refused_with_the_fix() -> None:
    @dataclass
    class Local:
        x: int

    for value in (Local(1), Handle(), HoldsHandle(Handle()), defaultdict(int), object()):
        with pytest.raises(TypeError, match=r"say the type with `value=`|make that a dataclass"):
            SERDE.serialize(value)
    with pytest.raises(ValueError, match="say the type with `value=`"):
        SERDE.serialize(2**80)


@pytest.mark.parametrize(
    "name",
    [
        "subprocess:Popen",
        "os:system",
        "serde_models:Handle",
        "antigravity:x",
        "not_imported_yet:Order",
        "x",
        "",
    ],
)
def test_bytes_cannot_name_anything_but_a_model_of_an_imported_module(name: str) -> None:
    forged = msgspec.msgpack.encode(msgspec.msgpack.Ext(6, name.encode() + b"\0" + b"\x80"))
    with pytest.raises(ValueError, match="it holds a"):
        SERDE.deserialize(forged)
    assert "antigravity" not in sys.modules


def test_bytes_of_another_format_are_refused() -> None:
    for data in (b"", b"\xc1", b"{}{}", msgspec.msgpack.encode(msgspec.msgpack.Ext(99, b"\x90"))):
        with pytest.raises(ValueError, match=r"."):
            SERDE.deserialize(data)


def test_a_script_and_its_module_write_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "fraud_app.py").write_text(
        "from dataclasses import dataclass\n"
        "from headrace.serdes import TaggedSerde\n"
        "@dataclass\n"
        "class Alert:\n"
        "    user: str\n"
        "print(TaggedSerde().serialize(Alert('a')))\n"
        "print(TaggedSerde().deserialize(TaggedSerde().serialize(Alert('a'))))\n"
    )

    source = str(Path(serdes.__file__).parents[2])

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": source},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    as_script = run("fraud_app.py")
    assert "fraud_app:Alert" in as_script
    assert as_script == run("-c", "import fraud_app") == run("-m", "fraud_app")
