"""Lists, with the bytes of Kafka's list serializer (KIP-466).

Entries of a fixed width stand one after the other, with the places of the nulls in front; others have their length
before each of them, -1 for a null. `list[...]` as a type is JSON: ask for this with `Serdes.list(...)`.
"""

from __future__ import annotations

from struct import Struct
from typing import TypeVar

from headrace.serdes.base import Serde
from headrace.serdes.primitives import DOUBLE, FLOAT, INTEGER, LONG, SHORT, UUID_TEXT

T = TypeVar("T")

_FIXED = {SHORT: 2, INTEGER: 4, FLOAT: 4, LONG: 8, DOUBLE: 8, UUID_TEXT: 36}
_FIXED_WIDTH, _ANY_WIDTH = 0, 1
_NULL = -1

_int = Struct(">i")


class ListSerde(Serde[list[T | None]]):
    """Lists of what another serde writes; entries may be None.

    >>> from headrace.serdes import Serdes
    >>> ListSerde(Serdes.short()).serialize([1, None, 2])
    b'\\x00\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x03\\x00\\x01\\x00\\x02'
    """

    def __init__(self, inner: Serde[T]) -> None:
        self.inner = inner
        self._width = _FIXED.get(inner)
        self._write, self._read = inner.serialize, inner.deserialize

    def serialize(self, value: list[T | None]) -> bytes:
        if not isinstance(value, list | tuple):
            raise TypeError(f"expected `list`, got {value!r} of type `{type(value).__name__}`")
        entries = [None if entry is None else self._write(entry) for entry in value]
        count = _int.pack(len(entries))
        if self._width is None:
            parts = [bytes((_ANY_WIDTH,)), count]
            for entry in entries:
                parts += [_int.pack(_NULL)] if entry is None else [_int.pack(len(entry)), entry]
            return b"".join(parts)
        nulls = [number for number, entry in enumerate(entries) if entry is None]
        places = b"".join(map(_int.pack, (len(nulls), *nulls)))
        return b"".join([bytes((_FIXED_WIDTH,)), places, count, *(e for e in entries if e is not None)])

    def deserialize(self, data: bytes) -> list[T | None]:
        reader = _Reader(data)
        form = reader.take(1)[0]
        if form not in (_FIXED_WIDTH, _ANY_WIDTH):
            raise ValueError(f"a list begins with 0 or 1, got {form}")
        if form == _FIXED_WIDTH and self._width is None:
            raise ValueError(f"a list of entries of a fixed width, which {self.inner!r} does not read")
        nulls = {reader.number() for _ in range(reader.number())} if form == _FIXED_WIDTH else set()
        found: list[T | None] = []
        for place in range(reader.number()):
            width = _NULL if place in nulls else self._width
            if form == _ANY_WIDTH:
                width = reader.number()
            assert width is not None
            found.append(None if width == _NULL else self._read(reader.take(width)))
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListSerde) and self.inner == other.inner

    def __hash__(self) -> int:
        return hash((ListSerde, self.inner))

    def __reduce__(self) -> tuple[object, ...]:
        return (ListSerde, (self.inner,))

    def __repr__(self) -> str:
        return f"Serdes.list({self.inner!r})"


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise ValueError(f"expected {size} bytes from {self._at} on, got {len(self._data) - self._at}")
        part = self._data[self._at : end]
        self._at = end
        return part

    def number(self) -> int:
        return int(_int.unpack(self.take(4))[0])
