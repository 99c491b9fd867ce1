"""Keys inside windows, with the bytes of Kafka Streams: what an aggregate over windows writes to a topic."""

from __future__ import annotations

import struct
from typing import Any, TypeVar

from headrace.errors import MissingSerdeError
from headrace.record import Windowed
from headrace.serdes.base import Serde

K = TypeVar("K")

_LONG = struct.Struct(">q")
_TWO_LONGS = struct.Struct(">qq")
_MAX_LONG = 2**63 - 1


class WindowedSerde(Serde[Windowed[K]]):
    """The common part: a key's bytes, then the window's times.

    `inner` may be None while a topology is built; it then means the configuration's default key.
    """

    suffix: int
    """How many bytes follow the key's own."""

    def __init__(self, inner: Serde[K] | None) -> None:
        self.inner = inner

    def key_bytes(self, data: bytes) -> bytes:
        """The inner key's bytes: they alone decide the partition."""
        return data[: -self.suffix]

    def with_inner(self, inner: Serde[K]) -> WindowedSerde[K]:
        """The same windows around keys of another serde."""
        raise TypeError(f"{type(self).__name__} does not define `with_inner`")

    def _inner(self) -> Serde[K]:
        if self.inner is None:
            raise MissingSerdeError("the key inside the window has no serde: pass one to the windowed serde")
        return self.inner


class TimeWindowedSerde(WindowedSerde[K]):
    """A key in a time window: the key's bytes, then the window's start. Its end follows from the size.

    >>> from headrace.serdes import Serdes
    >>> serde = TimeWindowedSerde(Serdes.string(), size_ms=60_000)
    >>> serde.deserialize(serde.serialize(Windowed("a", 0, 60_000)))
    Windowed(key='a', start=0, end=60000)
    """

    suffix = 8

    def __init__(self, inner: Serde[K] | None, size_ms: int) -> None:
        super().__init__(inner)
        self.size_ms = size_ms

    def serialize(self, value: Windowed[K]) -> bytes:
        return self._inner().serialize(value.key) + _LONG.pack(value.start)

    def deserialize(self, data: bytes) -> Windowed[K]:
        if len(data) < 8:
            raise ValueError(f"expected a key and 8 bytes of a window's start, got {len(data)} bytes")
        start: int = _LONG.unpack_from(data, len(data) - 8)[0]
        return Windowed(self._inner().deserialize(data[:-8]), start, min(start + self.size_ms, _MAX_LONG))

    def with_inner(self, inner: Serde[K]) -> TimeWindowedSerde[K]:
        return TimeWindowedSerde(inner, self.size_ms)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TimeWindowedSerde)
            and self.inner == other.inner
            and self.size_ms == other.size_ms
        )

    def __hash__(self) -> int:
        return hash((TimeWindowedSerde, self.inner, self.size_ms))

    def __repr__(self) -> str:
        return f"TimeWindowedSerde({self.inner!r}, {self.size_ms})"


class SessionWindowedSerde(WindowedSerde[K]):
    """A key in a session: the key's bytes, then the session's end and start.

    >>> from headrace.serdes import Serdes
    >>> serde = SessionWindowedSerde(Serdes.string())
    >>> serde.deserialize(serde.serialize(Windowed("a", 5, 9)))
    Windowed(key='a', start=5, end=9)
    """

    suffix = 16

    def serialize(self, value: Windowed[K]) -> bytes:
        return self._inner().serialize(value.key) + _TWO_LONGS.pack(value.end, value.start)

    def deserialize(self, data: bytes) -> Windowed[K]:
        if len(data) < 16:
            raise ValueError(f"expected a key and 16 bytes of a session's times, got {len(data)} bytes")
        end, start = _TWO_LONGS.unpack_from(data, len(data) - 16)
        return Windowed(self._inner().deserialize(data[:-16]), start, end)

    def with_inner(self, inner: Serde[K]) -> SessionWindowedSerde[K]:
        return SessionWindowedSerde(inner)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionWindowedSerde) and self.inner == other.inner

    def __hash__(self) -> int:
        return hash((SessionWindowedSerde, self.inner))

    def __repr__(self) -> str:
        return f"SessionWindowedSerde({self.inner!r})"


def partition_bytes(serde: Serde[Any], data: bytes) -> bytes:
    """What a sink hashes to choose the partition: the inner key of a windowed one, else all of it."""
    return serde.key_bytes(data) if isinstance(serde, WindowedSerde) else data
