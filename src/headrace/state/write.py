"""Writing a batch's changes to LMDB, and taking them back."""

from __future__ import annotations

from collections.abc import Iterable
from operator import eq
from struct import Struct
from typing import Any, TypeAlias

import msgspec

from headrace.state.key_schema import segment_prefix
from headrace.state.lmdb import LmdbBackend
from headrace.state.table import KEY, LONGEST, MARKS, change_bucket, pack_marks, place

Undo: TypeAlias = tuple[list[bytes], list[bytes | None]]
"""LMDB keys, and the values they had (None: there was none)."""

# Whole pages: 16 of them less one header, so that nothing is wasted and a free place is found easily.
_UNDO_ROW = 16 * 4096 - 16
_LEAST_SWEEP = 10_000

_row = Struct(">I").pack
_undo_decoder = msgspec.msgpack.Decoder(dict[str, Undo])


def write_changes(txn: Any, db: Any, backend: LmdbBackend, *, undo: bool) -> Undo | None:
    """Write what a backend has changed; returns what undoes it, if that is asked for.

    Tens of thousands of entries are usual, so this goes column by column: C loops where there is a choice.
    """
    overlay = backend.overlay
    # In the order of the keys, LMDB finds its place at once.
    keys = sorted(overlay)
    values: list[bytes | None] = [overlay[key] for key in keys]
    get = txn.get
    olds: list[bytes | None] = []
    if keys and max(map(len, keys)) > LONGEST:
        stored, values = _in_buckets(txn, db, keys, values)
        if undo:
            olds = [get(key, None, db) for key in stored]
    else:
        stored = [KEY + key for key in keys]
        if undo:
            # What the batch has read need not be looked for again: it is as of the commit that this one is built on.
            seen = overlay.seen
            olds = [
                seen[key] if key in seen else get(where, None, db)
                for key, where in zip(keys, stored, strict=True)
            ]
    if backend.marks != backend.base_marks:
        stored.append(MARKS)
        values.append(pack_marks(backend.marks))
        if undo:
            olds.append(get(MARKS, None, db))
    if not undo:
        _write(txn, db, stored, values)
        return None
    if any(map(eq, values, olds)):
        kept = [i for i, (value, old) in enumerate(zip(values, olds, strict=True)) if value != old]
        stored, values, olds = [stored[i] for i in kept], [values[i] for i in kept], [olds[i] for i in kept]
    _write(txn, db, stored, values)
    return stored, olds


def _in_buckets(
    txn: Any, db: Any, keys: list[bytes], values: list[bytes | None]
) -> tuple[list[bytes], list[bytes | None]]:
    """The same changes by LMDB key, for when some keys are longer than LMDB takes."""
    changes: dict[bytes, bytes | None] = {}
    buckets: dict[bytes, list[tuple[bytes, bytes | None]]] = {}
    for key, value in zip(keys, values, strict=True):
        if len(key) > LONGEST:
            buckets.setdefault(place(key), []).append((key, value))
        else:
            changes[place(key)] = value
    for stored, inside in buckets.items():
        changes[stored] = change_bucket(txn.get(stored, None, db), inside)
    return list(changes), list(changes.values())


def _write(txn: Any, db: Any, stored: list[bytes], values: list[bytes | None]) -> None:
    entries: Iterable[tuple[bytes, bytes | None]] = zip(stored, values, strict=True)
    if None in values:
        deleted = [key for key, value in zip(stored, values, strict=True) if value is None]
        entries = [(key, value) for key, value in entries if value is not None]
    else:
        deleted = []
    with txn.cursor(db) as cursor:
        cursor.putmulti(entries)
    for key in deleted:
        txn.delete(key, db=db)


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


def write_undo(txn: Any, db: Any, undo: dict[str, Undo]) -> None:
    """Keep what undoes a commit, in place of that of the commit before."""
    txn.drop(db, delete=False)
    data = msgspec.msgpack.encode(undo)
    for number, start in enumerate(range(0, len(data), _UNDO_ROW)):
        txn.put(_row(number), data[start : start + _UNDO_ROW], append=True, db=db)


def read_undo(txn: Any, db: Any) -> dict[str, Undo]:
    """What undoes the last commit."""
    return _undo_decoder.decode(b"".join(value for _, value in txn.cursor(db)))


def take_back(txn: Any, db: Any, undo: Undo) -> None:
    """Give LMDB keys the values they had."""
    _write(txn, db, *undo)
