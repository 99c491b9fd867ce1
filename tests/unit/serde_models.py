"""Models of every kind that a value may be, at the top level of a module as a user's are."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Literal, NamedTuple, TypedDict
from uuid import UUID

import msgspec
import pydantic


@dataclass
class Order:
    customer: str
    amount: float
    tags: list[str] = field(default_factory=list)


class Payment(msgspec.Struct):
    customer: str
    cents: int
    at: datetime | None = None


class Address(pydantic.BaseModel):
    street: str
    house_number: int = pydantic.Field(alias="houseNumber", gt=0)


class Person(TypedDict):
    name: str
    age: int


class Point(NamedTuple):
    x: float
    y: float


class Colour(Enum):
    RED = "red"


@dataclass
class Household:
    address: Address
    people: list[Person]


@dataclass
class Tree:
    value: int
    children: list[Tree]


class Handle:
    """Not a model: nothing says what it holds."""


@dataclass
class HoldsHandle:
    handle: Handle


class Paid(msgspec.Struct, tag=True):
    cents: int


class Refused(msgspec.Struct, tag=True):
    reason: str


@dataclass
class Ledger:
    """Everything that a field may be."""

    at: datetime
    day: date
    took: timedelta
    price: Decimal
    colour: Colour
    order: Order | None
    orders: dict[str, list[Order]]
    id: UUID
    pair: tuple[int, str]
    kind: Literal["a", "b"]
    either: int | str
    outcome: Paid | Refused
    raw: bytes
    flags: set[int]
