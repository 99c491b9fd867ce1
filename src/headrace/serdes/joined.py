"""What a left or outer join of streams keeps of records that have met nobody yet, with the bytes of Kafka Streams.

key      timestamp (8) | 1 for the left side, 0 for the right | key
value    a list: 1 | count (4) | for each: length (4) | 1 for left, 0 for right | value
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple, TypeAlias

from headrace.errors import MissingSerdeError
from headrace.serdes.base import Serde

_KEY = struct.Struct(">q?")
_HEAD = struct.Struct(">bi")
_SIZE = struct.Struct(">i")
_VARIABLE_SIZE = 1


class JoinKey(NamedTuple):
    """A record that waits: when it was, on which side, and its key. The bytes sort in this order."""

    timestamp: int
    is_left: bool
    key: Any


JoinValues: TypeAlias = list[tuple[bool, Any]]
"""The values that wait under one key: (is left, value)."""


class JoinKeySerde(Serde[JoinKey]):
    """Keys of waiting records. `inner` None means the configuration's default key."""

    def __init__(self, inner: Serde[Any] | None) -> None:
        self.inner = inner

    def with_inner(self, inner: Serde[Any]) -> JoinKeySerde:
        """The same with another serde for the key itself."""
        return JoinKeySerde(inner)

    def serialize(self, value: JoinKey) -> bytes:
        return _KEY.pack(value[0], value[1]) + _known(self.inner).serialize(value[2])

    def deserialize(self, data: bytes) -> JoinKey:
        timestamp, is_left = _KEY.unpack_from(data)
        return JoinKey(timestamp, is_left, _known(self.inner).deserialize(data[_KEY.size :]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JoinKeySerde) and self.inner == other.inner

    def __hash__(self) -> int:
        return hash((JoinKeySerde, self.inner))


class JoinValuesSerde(Serde[JoinValues]):
    """Values of waiting records. None for a side means the configuration's default value."""

    def __init__(self, left: Serde[Any] | None, right: Serde[Any] | None) -> None:
        self.left, self.right = left, right

    def with_inner(self, inner: Serde[Any]) -> JoinValuesSerde:
        """The same with a serde for the sides that have none."""
        return JoinValuesSerde(self.left or inner, self.right or inner)

    @property
    def inner(self) -> Serde[Any] | None:
        """None while a side has no serde."""
        return self.left if self.right is not None else None

    def serialize(self, value: JoinValues) -> bytes:
        parts = [_HEAD.pack(_VARIABLE_SIZE, len(value))]
        for is_left, item in value:
            raw = _known(self.left if is_left else self.right).serialize(item)
            parts += (_SIZE.pack(len(raw) + 1), b"\x01" if is_left else b"\x00", raw)
        return b"".join(parts)

    def deserialize(self, data: bytes) -> JoinValues:
        _, count = _HEAD.unpack_from(data)
        place, values = _HEAD.size, []
        for _ in range(count):
            end = place + _SIZE.size + _SIZE.unpack_from(data, place)[0]
            is_left, raw = data[place + _SIZE.size] == 1, data[place + _SIZE.size + 1 : end]
            values.append((is_left, _known(self.left if is_left else self.right).deserialize(raw)))
            place = end
        return values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JoinValuesSerde) and (self.left, self.right) == (other.left, other.right)

    def __hash__(self) -> int:
        return hash((JoinValuesSerde, self.left, self.right))


def _known(serde: Serde[Any] | None) -> Serde[Any]:
    if serde is None:
        raise MissingSerdeError("a side of the join has no serde: give the streams `key=` and `value=`")
    return serde
