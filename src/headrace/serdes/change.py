"""Changes of a table's rows, with the bytes of Kafka Streams: what a grouped table writes to its repartition topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from headrace.errors import MissingSerdeError
from headrace.serdes.base import Serde

V = TypeVar("V")

ChangeTuple: TypeAlias = tuple[Any, Any, bool]
"""(new, old, is latest), in the order of `headrace.record.Change`."""

_OLD, _NEW, _BOTH = b"\x00", b"\x01", b"\x02"


class ChangeSerde(Serde[ChangeTuple]):
    """The bytes of the old or the new value, or of both, and a last byte that tells which.

    `inner` may be None while a topology is built; it then means the configuration's default value.

    >>> from headrace.serdes import Serdes
    >>> serde = ChangeSerde(Serdes.string())
    >>> serde.serialize(("new", "old", True))
    b'\\x06newold\\x02'
    >>> serde.deserialize(b"new\\x01")
    ('new', None, True)
    """

    def __init__(self, inner: Serde[Any] | None) -> None:
        self.inner = inner
        if inner is not None:
            self._use(_writer(inner.serialize), _reader(inner.deserialize))

    def serialize(self, value: ChangeTuple) -> bytes:
        raise _without_inner()

    def deserialize(self, data: bytes) -> ChangeTuple:
        raise _without_inner()

    def with_inner(self, inner: Serde[Any]) -> ChangeSerde:
        """Changes of values of another serde."""
        return ChangeSerde(inner)

    def __reduce__(self) -> tuple[object, ...]:
        return (ChangeSerde, (self.inner,))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangeSerde) and self.inner == other.inner

    def __hash__(self) -> int:
        return hash((ChangeSerde, self.inner))

    def __repr__(self) -> str:
        return f"ChangeSerde({self.inner!r})"


def _writer(write: Callable[[Any], bytes]) -> Callable[[ChangeTuple], bytes]:
    def serialize(change: ChangeTuple) -> bytes:
        new, old, _ = change
        if old is None:
            if new is None:
                raise ValueError("expected an old or a new value, got neither")
            return write(new) + _NEW
        if new is None:
            return write(old) + _OLD
        data = write(new)
        return _varint(len(data)) + data + write(old) + _BOTH

    return serialize


def _reader(read: Callable[[bytes], Any]) -> Callable[[bytes], ChangeTuple]:
    def deserialize(data: bytes) -> ChangeTuple:
        kind = data[-1:]
        if kind == _NEW:
            return read(data[:-1]), None, True
        if kind == _OLD:
            return None, read(data[:-1]), True
        if kind != _BOTH:
            raise ValueError(f"expected a last byte of 0, 1 or 2, got {kind!r}")
        start, end = _lengths(data)
        return read(data[start:end]), read(data[end:-1]), True

    return deserialize


def _varint(length: int) -> bytes:
    """Kafka's signed variable-length integer: zigzag, then seven bits to a byte, the lowest first."""
    rest = length << 1
    if rest < 0x80:
        return bytes((rest,))
    found = bytearray()
    while rest >= 0x80:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)


def _lengths(data: bytes) -> tuple[int, int]:
    """Where the new value begins and ends."""
    number = 0
    for place, byte in enumerate(data[:5]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            start, end = place + 1, place + 1 + (number >> 1)
            if number & 1 or end >= len(data):
                break
            return start, end
    raise ValueError("the length of the new value is damaged")


def _without_inner() -> MissingSerdeError:
    return MissingSerdeError("the values inside the changes have no serde: pass one to the change serde")
