"""What a store needs of the place where its bytes are kept: an ordered map from bytes to bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

from headrace.errors import ClosedStoreError, StoreError
from headrace.origin import caller

Entry: TypeAlias = tuple[bytes, bytes]


@dataclass(slots=True)
class Marks:
    """What a store remembers beside its entries. Committed and rolled back together with them.

    `floor` is the lowest live segment: no entry below it is ever read again, so a backend may delete such
    entries when it likes (see `Backend.truncate`).
    """

    stream_time: int = -1
    floor: int = 0
    sequence: int = 0

    def copy(self) -> Marks:
        return Marks(self.stream_time, self.floor, self.sequence)

    def take(self, other: Marks) -> None:
        """Become equal to the other one; stores keep a reference to this object."""
        self.stream_time, self.floor, self.sequence = other.stream_time, other.floor, other.sequence


class ReadBackend(Protocol):
    """The reading half. Keys are ordered by their bytes.

    Stores keep `backend.get` and `backend.put` as bound callables, so a backend may make them attributes that
    point straight at a dict's own methods.
    """

    @property
    def marks(self) -> Marks: ...

    def get(self, key: bytes, /) -> bytes | None: ...

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[Entry]:
        """The entries with low <= key < high (None: no bound), as they are at the time of the call."""
        ...

    def first(self, low: bytes, high: bytes) -> bytes | None:
        """The lowest key with low <= key < high, found without a look at the others."""
        ...

    def count(self) -> int:
        """About how many entries there are."""
        ...


class Backend(ReadBackend, Protocol):
    """The whole."""

    def put(self, key: bytes, value: bytes, /) -> None: ...

    def put_many(self, entries: Iterable[Entry]) -> None: ...

    def delete(self, key: bytes, /) -> None: ...

    def truncate(self, floor: int, before: bytes) -> None:
        """Raise `marks.floor`; entries below the key `before` will not be asked for again."""
        ...


class _NoMarks:
    def __init__(self, refuse: Callable[[], StoreError]) -> None:
        self._refuse = refuse

    def __getattr__(self, name: str) -> int:
        raise self._refuse()


class NoBackend:
    """Stands in for the backend of a closed store, so that an open one need not check on every call."""

    __slots__ = ("_reason", "marks")

    marks: Marks

    def __init__(self, reason: str) -> None:
        self._reason = reason
        self.marks = cast("Marks", _NoMarks(self._refuse))

    def _refuse(self) -> StoreError:
        return ClosedStoreError(self._reason, origin=caller())

    def get(self, key: bytes, /) -> bytes | None:
        raise self._refuse()

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[Entry]:
        raise self._refuse()

    def count(self) -> int:
        raise self._refuse()

    def put(self, key: bytes, value: bytes, /) -> None:
        raise self._refuse()

    def put_many(self, entries: Iterable[Entry]) -> None:
        raise self._refuse()

    def delete(self, key: bytes, /) -> None:
        raise self._refuse()

    def first(self, low: bytes, high: bytes) -> bytes | None:
        raise self._refuse()

    def truncate(self, floor: int, before: bytes) -> None:
        raise self._refuse()


def after(prefix: bytes) -> bytes | None:
    """The lowest key above every key that begins with the prefix; None when there is none."""
    stripped = prefix.rstrip(b"\xff")
    if not stripped:
        return None
    return stripped[:-1] + bytes((stripped[-1] + 1,))
