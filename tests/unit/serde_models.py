"""Models of every kind that a value may be, at the top level of a module as a user's are."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import NamedTuple, TypedDict

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
