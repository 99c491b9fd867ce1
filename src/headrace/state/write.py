"""Writing a batch's changes to LMDB, and taking them back."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from struct import Struct
from typing import Any, TypeAlias

import msgspec

from headrace.state.key_schema import segment_prefix
from headrace.state.lmdb import LmdbBackend
from headrace.state.table import KEY, LONGEST, MARKS, change_bucket, pack_marks, place

UndoEntries: TypeAlias = list[tuple[bytes, bytes | None]]
"""LMDB keys and the values they had (None: there was none)."""

# Whole pages: 16 of them less one header, so that nothing is wasted and a free place is found easily.
_UNDO_ROW = 16 * 4096 - 16
_LEAST_SWEEP = 10_000

_row = Struct(">I").pack
_undo_decoder = msgspec.msgpack.Decoder(dict[str, UndoEntries])


def write_changes(txn: Any, db: Any, backend: LmdbBackend) -> UndoEntries:
    """Write what a backend has changed; returns what undoes it."""
    puts: list[tuple[bytes, bytes]] = []
    deletes: list[bytes] = []
    undo: UndoEntries = []
    get = txn.get
    for key, value in _stored(txn, db, backend):
        old = get(key, None, db)
        if old == value:
            continue
        undo.append((key, old))
        if value is None:
            deletes.append(key)
        else:
            puts.append((key, value))
    with txn.cursor(db) as cursor:
        cursor.putmulti(puts)
    for key in deletes:
        txn.delete(key, db=db)
    return undo


def _stored(txn: Any, db: Any, backend: LmdbBackend) -> Iterable[tuple[bytes, bytes | None]]:
    if backend.marks != backend.base_marks:
        yield MARKS, pack_marks(backend.marks)
    buckets: dict[bytes, list[tuple[bytes, bytes | None]]] = {}
    # In the order of the keys, LMDB finds its place at once.
    for key, value in sorted(backend.overlay.items(), key=itemgetter(0)):
        if len(key) <= LONGEST:
            yield KEY + key, value
        else:
            buckets.setdefault(place(key), []).append((key, value))
    for stored, changes in buckets.items():
        yield stored, change_bucket(txn.get(stored, None, db), changes)


def sweep(txn: Any, db: Any, floor: int, most: int) -> int:
    """Delete entries of segments below the floor, the oldest first, but not more than so many at a time.

    The floor must be one that no undo leads back across. Nothing reads such entries, so it does not matter when
    they go; spread over commits, a segment of millions does not stop the stream.
    """
    if floor <= 0:
        return 0
    end = KEY + segment_prefix(floor)
    most = max(most, _LEAST_SWEEP)
    swept = 0
    with txn.cursor(db) as cursor:
        found = cursor.set_range(KEY)
        while found and swept < most and cursor.key() < end:
            found = cursor.delete() and bool(cursor.key())
            swept += 1
    return swept


def write_undo(txn: Any, db: Any, undo: dict[str, UndoEntries]) -> None:
    """Keep what undoes a commit, in place of that of the commit before."""
    txn.drop(db, delete=False)
    data = msgspec.msgpack.encode(undo)
    for number, start in enumerate(range(0, len(data), _UNDO_ROW)):
        txn.put(_row(number), data[start : start + _UNDO_ROW], append=True, db=db)


def read_undo(txn: Any, db: Any) -> dict[str, UndoEntries]:
    """What undoes the last commit."""
    return _undo_decoder.decode(b"".join(value for _, value in txn.cursor(db)))


def take_back(txn: Any, db: Any, entries: UndoEntries) -> None:
    """Give LMDB keys the values they had."""
    with txn.cursor(db) as cursor:
        cursor.putmulti([(key, old) for key, old in entries if old is not None])
    for key, old in entries:
        if old is None:
            txn.delete(key, db=db)
