"""Two sorted sequences of entries seen as one: those on top hide what is below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headrace.state.backend import Entry


def merged(
    top: Iterable[tuple[bytes, bytes | None]], below: Iterator[Entry], reverse: bool
) -> Iterator[Entry]:
    """The entries of both, in the order of the keys (None on top: deleted).

    >>> list(merged([(b"a", None), (b"b", b"new")], iter([(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]), False))
    [(b'b', b'new'), (b'c', b'3')]
    """
    return _backward(top, below) if reverse else _forward(top, below)


def _forward(top: Iterable[tuple[bytes, bytes | None]], below: Iterator[Entry]) -> Iterator[Entry]:
    entry = next(below, None)
    for key, value in top:
        while entry is not None and entry[0] < key:
            yield entry
            entry = next(below, None)
        if entry is not None and entry[0] == key:
            entry = next(below, None)
        if value is not None:
            yield key, value
    if entry is not None:
        yield entry
        yield from below


def _backward(top: Iterable[tuple[bytes, bytes | None]], below: Iterator[Entry]) -> Iterator[Entry]:
    entry = next(below, None)
    for key, value in top:
        while entry is not None and entry[0] > key:
            yield entry
            entry = next(below, None)
        if entry is not None and entry[0] == key:
            entry = next(below, None)
        if value is not None:
            yield key, value
    if entry is not None:
        yield entry
        yield from below
