"""What `deduplicate` keeps: identities, and when the records passed that had them.

key      length of the key (4) | key | id      (an id under a key; otherwise the key's or the id's own bytes)
value    for each record that has passed: its timestamp (8) | stream time when it came (8)
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple, TypeAlias

from headrace.errors import MissingSerdeError
from headrace.serdes.base import Serde

_SIZE = struct.Struct(">i")
_PASSED = struct.Struct(">qq")


class Passed(NamedTuple):
    """A record that has passed: its own time, and how late it was in the stream when it came."""

    timestamp: int
    stream_time: int


PassedList: TypeAlias = list[Passed]


class PassedSerde(Serde[PassedList]):
    """The records of one identity that have passed and are remembered."""

    def serialize(self, value: PassedList) -> bytes:
        return b"".join(_PASSED.pack(*passed) for passed in value)

    def deserialize(self, data: bytes) -> PassedList:
        return [Passed(*pair) for pair in _PASSED.iter_unpack(data)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PassedSerde)

    def __hash__(self) -> int:
        return hash(PassedSerde)


class KeyAndId(NamedTuple):
    """An id that counts under its key only."""

    key: Any
    id: Any


class KeyAndIdSerde(Serde[KeyAndId]):
    """A key and an id. `inner` is the key's serde; None means the configuration's default."""

    def __init__(self, inner: Serde[Any] | None, identity: Serde[Any]) -> None:
        self.inner = inner
        self.identity = identity

    def with_inner(self, inner: Serde[Any]) -> KeyAndIdSerde:
        """The same with another serde for the key."""
        return KeyAndIdSerde(inner, self.identity)

    def serialize(self, value: KeyAndId) -> bytes:
        key = self._known().serialize(value[0])
        return _SIZE.pack(len(key)) + key + self.identity.serialize(value[1])

    def deserialize(self, data: bytes) -> KeyAndId:
        end = _SIZE.size + _SIZE.unpack_from(data)[0]
        key = self._known().deserialize(data[_SIZE.size : end])
        return KeyAndId(key, self.identity.deserialize(data[end:]))

    def _known(self) -> Serde[Any]:
        if self.inner is None:
            raise MissingSerdeError("the key has no serde: give the stream `key=`")
        return self.inner

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyAndIdSerde) and (self.inner, self.identity) == (
            other.inner,
            other.identity,
        )

    def __hash__(self) -> int:
        return hash((KeyAndIdSerde, self.inner, self.identity))
