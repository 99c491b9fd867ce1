"""`Serdes`: Kafka's built-in formats under Kafka's names."""

from __future__ import annotations

import builtins
from typing import Any, TypeVar

from headrace.serdes.base import Serde
from headrace.serdes.lists import ListSerde
from headrace.serdes.lookup import serde_for
from headrace.serdes.primitives import PlainSerdes

T = TypeVar("T")


class Serdes(PlainSerdes):
    """Kafka's built-in formats under Kafka's names, for the places where a Python type is not precise enough.

    `int` means Kafka's long and `float` its double; a topic of 4-byte integers says `value=Serdes.integer()`.

    >>> Serdes.integer().serialize(1)
    b'\\x00\\x00\\x00\\x01'
    """

    @staticmethod
    def list(inner: type[T] | Serde[T]) -> Serde[builtins.list[T | None]]:
        """Lists of a type or of what a serde writes, with Kafka's own bytes (`list[...]` as a type is JSON).

        >>> Serdes.list(str).deserialize(Serdes.list(str).serialize(["a", None]))
        ['a', None]
        """
        found: Serde[Any] = serde_for(inner)
        return ListSerde(found)
