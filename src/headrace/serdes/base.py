"""How a key or value becomes bytes and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Serde(Generic[T]):
    """Writes and reads one type. `None` never reaches a serde: it is Kafka's null.

    Subclass it, or make one of two functions with `Serde.of`. `serialize` and `deserialize` are read once per
    task and called for every record, so a subclass may set them as attributes of the instance
    (for example to the bound method of an encoder).

    >>> upper = Serde.of(lambda text: text.upper().encode(), lambda data: data.decode())
    >>> upper.serialize("a")
    b'A'
    """

    def serialize(self, value: T) -> bytes:
        raise TypeError(f"{type(self).__name__} does not define `serialize`")

    def deserialize(self, data: bytes) -> T:
        raise TypeError(f"{type(self).__name__} does not define `deserialize`")

    def _use(self, serialize: Callable[[T], bytes], deserialize: Callable[[bytes], T]) -> None:
        """Set both as attributes of this object, so that a caller reaches them without a frame in between."""
        vars(self).update(serialize=serialize, deserialize=deserialize)

    @staticmethod
    def of(serialize: Callable[[T], bytes], deserialize: Callable[[bytes], T]) -> Serde[T]:
        """A serde made of two functions."""
        return _FunctionSerde(serialize, deserialize)


class _FunctionSerde(Serde[T]):
    def __init__(self, serialize: Callable[[T], bytes], deserialize: Callable[[bytes], T]) -> None:
        self._use(serialize, deserialize)
