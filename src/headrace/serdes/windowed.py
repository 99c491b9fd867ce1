"""Keys inside windows, with the bytes of Kafka Streams: what an aggregate over windows writes to a topic."""

from __future__ import annotations

import struct
from collections.abc import Callable
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
        if inner is not None:
            # Called for every record: everything they need is looked up once, here.
            self._use(self._writer(inner.serialize), self._reader(inner.deserialize))

    def serialize(self, value: Windowed[K]) -> bytes:
        raise _without_inner()

    def deserialize(self, data: bytes) -> Windowed[K]:
        raise _without_inner()

    def key_bytes(self, data: bytes) -> bytes:
        """The inner key's bytes: they alone decide the partition."""
        return data[: -self.suffix]

    def with_inner(self, inner: Serde[K]) -> WindowedSerde[K]:
        """The same windows around keys of another serde."""
        raise TypeError(f"{type(self).__name__} does not define `with_inner`")

    def _writer(self, write: Callable[[K], bytes]) -> Callable[[Windowed[K]], bytes]:
        raise TypeError(f"{type(self).__name__} does not define `_writer`")

    def _reader(self, read: Callable[[bytes], K]) -> Callable[[bytes], Windowed[K]]:
        raise TypeError(f"{type(self).__name__} does not define `_reader`")


def _without_inner() -> MissingSerdeError:
    return MissingSerdeError("the key inside the window has no serde: pass one to the windowed serde")


class TimeWindowedSerde(WindowedSerde[K]):
    """A key in a time window: the key's bytes, then the window's start. Its end follows from the size.

    >>> from headrace.serdes import Serdes
    >>> serde = TimeWindowedSerde(Serdes.string(), size_ms=60_000)
    >>> serde.deserialize(serde.serialize(Windowed("a", 0, 60_000)))
    Windowed(key='a', start=0, end=60000)
    """

    suffix = 8

    def __init__(self, inner: Serde[K] | None, size_ms: int) -> None:
        self.size_ms = size_ms
        super().__init__(inner)

    def with_inner(self, inner: Serde[K]) -> TimeWindowedSerde[K]:
        return TimeWindowedSerde(inner, self.size_ms)

    def _writer(self, write: Callable[[K], bytes]) -> Callable[[Windowed[K]], bytes]:
        pack = _LONG.pack
        return lambda windowed: write(windowed[0]) + pack(windowed[1])

    def _reader(self, read: Callable[[bytes], K]) -> Callable[[bytes], Windowed[K]]:
        unpack, size_ms = _LONG.unpack, self.size_ms

        def deserialize(data: bytes) -> Windowed[K]:
            if len(data) < 8:
                raise ValueError(f"expected a key and 8 bytes of a window's start, got {len(data)} bytes")
            start: int = unpack(data[-8:])[0]
            return Windowed(read(data[:-8]), start, min(start + size_ms, _MAX_LONG))

        return deserialize

    def __reduce__(self) -> tuple[object, ...]:
        return (TimeWindowedSerde, (self.inner, self.size_ms))

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

    def with_inner(self, inner: Serde[K]) -> SessionWindowedSerde[K]:
        return SessionWindowedSerde(inner)

    def _writer(self, write: Callable[[K], bytes]) -> Callable[[Windowed[K]], bytes]:
        pack = _TWO_LONGS.pack
        return lambda windowed: write(windowed[0]) + pack(windowed[2], windowed[1])

    def _reader(self, read: Callable[[bytes], K]) -> Callable[[bytes], Windowed[K]]:
        unpack = _TWO_LONGS.unpack

        def deserialize(data: bytes) -> Windowed[K]:
            if len(data) < 16:
                raise ValueError(f"expected a key and 16 bytes of a session's times, got {len(data)} bytes")
            end, start = unpack(data[-16:])
            return Windowed(read(data[:-16]), start, end)

        return deserialize

    def __reduce__(self) -> tuple[object, ...]:
        return (SessionWindowedSerde, (self.inner,))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionWindowedSerde) and self.inner == other.inner

    def __hash__(self) -> int:
        return hash((SessionWindowedSerde, self.inner))

    def __repr__(self) -> str:
        return f"SessionWindowedSerde({self.inner!r})"


def partition_bytes(serde: Serde[Any], data: bytes) -> bytes:
    """What a sink hashes to choose the partition: the inner key of a windowed one, else all of it."""
    return serde.key_bytes(data) if isinstance(serde, WindowedSerde) else data
