"""Types inside types: optional, union, enum, decimal, dates, nested models, on their own and through a topology."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, Optional
from uuid import UUID

import pytest
from serde_models import Colour, Ledger, Order, Paid, Payment, Refused

from headrace import StreamsBuilder
from headrace.errors import MissingSerdeError
from headrace.serdes import Serdes, serde_for
from headrace.testing import TopologyTestDriver

MOMENT = datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)
LEDGER = Ledger(
    at=MOMENT,
    day=date(2024, 2, 29),
    took=timedelta(days=-1, seconds=3),
    price=Decimal("0.10"),
    colour=Colour.RED,
    order=None,
    orders={"a": [Order("ann", 1.5)], "b": []},
    id=UUID(int=7),
    pair=(1, "x"),
    kind="b",
    either="seven",
    outcome=Refused("no money"),
    raw=b"\x00\xff",
    flags={1, 2},
)
VALUES: list[tuple[Any, Any]] = [
    (Ledger, LEDGER),
    (int | str, 5),
    (int | str, "five"),
    (Order | None, Order("a", 1.0)),
    (Colour, Colour.RED),
    (Decimal, Decimal("1E+5")),
    (datetime, MOMENT),
    (date, date(1, 1, 1)),
    (timedelta, timedelta(milliseconds=1)),
    (list[Order], [Order("a", 1.0), Order("b", 2.0, ["x"])]),
    (dict[str, Payment], {"k": Payment("a", 5, MOMENT)}),
    (dict[int, str], {1: "a"}),
    (set[int], {1, 2}),
    (tuple[int, str], (1, "a")),
    (Literal["a", "b"], "a"),
    (Paid | Refused, Paid(5)),
    (list[int | None], [1, None]),
    (float | int, 1.5),
]


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=[str(kind) for kind, _ in VALUES])
def test_values_come_back_as_they_were(kind: Any, value: Any) -> None:
    serde = serde_for(kind)
    assert serde.deserialize(serde.serialize(value)) == value


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=[str(kind) for kind, _ in VALUES])
def test_values_go_through_topics_and_stores(kind: Any, value: Any) -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", value=kind)
    stream.group_by(lambda key, value: key + key).reduce(lambda old, new: new, store="last").to_stream().to(
        "out"
    )
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("in").pipe("a", value)
        assert driver.output("out").read_key_value() == ("aa", value)
        assert driver.store("last").get("aa") == value


@pytest.mark.parametrize("kind", [Optional[int], int | None])  # noqa: UP045
def test_an_optional_type_is_the_type(kind: Any) -> None:
    assert serde_for(kind) is Serdes.long()


def test_a_union_of_dataclasses_needs_a_tag() -> None:
    with pytest.raises(
        MissingSerdeError, match="make them msgspec structs with `tag=True`, so that each says which it is"
    ):
        serde_for(Order | Ledger)


def test_a_function_that_returns_such_a_union_is_no_mistake() -> None:
    """Its values carry the names of their types where they stay inside the application."""

    def pick(value: str) -> Order | Ledger:
        return LEDGER if value == "ledger" else Order(value, 1.0)

    builder = StreamsBuilder()
    picked = (
        builder.stream("in", value=str)
        .map_values(pick)
        .group_by_key()
        .reduce(lambda old, new: new, store="s")
    )
    picked.to_stream().map_values(lambda value: type(value).__name__, value=str).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("in").pipe("a", "ledger")
        driver.input("in").pipe("a", "ann")
        assert driver.output("out").read_values() == ["Ledger", "Order"]
        assert driver.store("s").get("a") == Order("ann", 1.0)
