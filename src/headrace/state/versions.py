"""The versions of each key as bytes: how a versioned store finds, keeps and forgets them.

    latest value    0xff | key                                          ->  valid from (8) | value
    older version   segment (8) | length of key (4) | key | valid to (8) ->  valid from (8) | kind (1) | value

An older version is in the segment of the time at which it ended: so a segment can be dropped as a whole once all that
is in it ended before the history began, and one look forward finds the version that was valid at a time. A put in
order touches two entries, however long the history is; one out of order, or a look back, goes on from segment to
segment until the key has a later version.

Time between two versions belongs to none: the key was deleted. A deletion with nothing before it that it could end is
an entry that ends where it begins.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final, NamedTuple

from headrace.state.backend import Backend, Marks, NoBackend, ReadBackend
from headrace.state.key_schema import MAX_TIME, SEGMENT_SIZE, segment_prefix

VALID_TO_UNDEFINED: Final = -1
"""A put's answer: this is the latest version of its key, so its end is not known yet."""
NOT_PUT: Final = -(2**63)
"""A put's answer: older than the history goes back, so nothing was put."""

LATEST: Final = b"\xff"  # Above all segments, so that no expiry gets there.
_VALUE: Final = b"\x01"
_DELETED: Final = b"\x00"

_LONG = Struct(">q")
_LENGTH = Struct(">I")
_time, _read_time = _LONG.pack, _LONG.unpack_from


class Version(NamedTuple):
    """A version of a key, from (inclusive) and to (exclusive; None: it is the latest). No value: deleted."""

    value: bytes | None
    valid_from: int
    valid_to: int | None


class ReadVersions:
    """The versions over a backend, for reading."""

    __slots__ = ("_first", "get_entry", "interval", "marks", "retention")

    get_entry: Callable[[bytes], bytes | None]

    def __init__(self, backend: ReadBackend, retention_ms: int, interval_ms: int) -> None:
        self.retention = retention_ms
        self.interval = interval_ms
        self.marks: Marks = backend.marks
        self.get_entry = backend.get
        self._first = backend.first

    def latest(self, raw_key: bytes) -> Version | None:
        """The version that is valid now."""
        raw = self.get_entry(LATEST + raw_key)
        return None if raw is None else Version(raw[8:], _read_time(raw)[0], None)

    def is_expired(self, time: int) -> bool:
        """Whether a time is before the history."""
        return time < self.marks.stream_time - self.retention

    def as_of(self, raw_key: bytes, time: int) -> Version | None:
        """The version that was valid at a time; only the latest is known of times before the history."""
        latest = self.get_entry(LATEST + raw_key)
        if latest is not None:
            (since,) = _read_time(latest)
            if since <= time:
                return Version(latest[8:], since, None)
        if self.is_expired(time):
            return None
        found = self.ends_after(raw_key, time)
        return None if found is None or found.valid_from > time or found.value is None else found

    def ends_after(self, raw_key: bytes, time: int) -> Version | None:
        """The first version that ended after a time, if any did."""
        # The length in front keeps apart the keys that begin with this one.
        of_key = _LENGTH.pack(len(raw_key)) + raw_key
        after = max(time, -1) + 1
        number, last = after // self.interval, self.marks.stream_time // self.interval
        end = segment_prefix(last + 1)
        rest = of_key + _time(after) if after <= MAX_TIME else LATEST
        while number <= last:
            prefix = segment_prefix(number)
            key = self._first(prefix + rest, end)
            if key is None:
                return None
            if key.startswith(prefix + of_key):
                raw = self.get_entry(key)
                assert raw is not None
                value = raw[9:] if raw[8:9] == _VALUE else None
                return Version(value, _read_time(raw)[0], _read_time(key, len(key) - 8)[0])
            # Another key: of this segment, or of the next that has anything at all.
            number = max(number + 1, int.from_bytes(key[:SEGMENT_SIZE], "big"))
            rest = of_key
        return None

    def close(self, reason: str) -> None:
        """Make every later use raise StoreError."""
        nothing = NoBackend(reason)
        self.get_entry, self._first, self.marks = nothing.get, nothing.first, nothing.marks


class Versions(ReadVersions):
    """The versions over a backend, for reading and writing."""

    __slots__ = ("_delete_entry", "_put_entry", "_truncate")

    def __init__(self, backend: Backend, retention_ms: int, interval_ms: int) -> None:
        super().__init__(backend, retention_ms, interval_ms)
        self._put_entry = backend.put
        self._delete_entry = backend.delete
        self._truncate = backend.truncate

    def put(self, raw_key: bytes, value: bytes | None, time: int) -> int:
        """Put a version (None: a deletion) and return when it ends, `VALID_TO_UNDEFINED` or `NOT_PUT`."""
        marks = self.marks
        if time > marks.stream_time:
            self._advance(time)
        elif time < marks.stream_time - self.retention:
            return NOT_PUT
        at_latest = LATEST + raw_key
        latest = self.get_entry(at_latest)
        if latest is None:
            return self._put_before(raw_key, value, time, None)
        (since,) = _read_time(latest)
        if time < since:
            return self._put_before(raw_key, value, time, since)
        if time > since:
            self._put_entry(self._place(raw_key, time), latest[:8] + _VALUE + latest[8:])
        if value is None:
            # At its own time the latest version goes without a trace, as in Kafka Streams.
            self._delete_entry(at_latest)
        else:
            self._put_entry(at_latest, _time(time) + value)
        return VALID_TO_UNDEFINED

    def close(self, reason: str) -> None:
        """Make every later use raise StoreError."""
        super().close(reason)
        nothing = NoBackend(reason)
        self._put_entry, self._delete_entry, self._truncate = nothing.put, nothing.delete, nothing.truncate

    def _put_before(self, raw_key: bytes, value: bytes | None, time: int, latest: int | None) -> int:
        """A put where the key has no latest value, or only one that is later."""
        content = _time(time) + (_DELETED if value is None else _VALUE + value)
        found = self.ends_after(raw_key, time)
        if found is not None:
            if found.valid_from > time:
                valid_to = found.valid_from
            else:
                assert found.valid_to is not None
                valid_to = found.valid_to
                if found.valid_from < time:
                    self._cut_off(raw_key, found, time)
        elif latest is not None:
            valid_to = latest
        elif value is not None:
            self._put_entry(LATEST + raw_key, _time(time) + value)
            return VALID_TO_UNDEFINED
        else:
            place = self._place(raw_key, time)
            if self.get_entry(place) is None:
                self._put_entry(place, content)
            return VALID_TO_UNDEFINED
        self._put_entry(self._place(raw_key, valid_to), content)
        return valid_to

    def _cut_off(self, raw_key: bytes, version: Version, time: int) -> None:
        """End a version earlier: the new one takes over its end, and its place."""
        value = version.value
        content = _time(version.valid_from) + (_DELETED if value is None else _VALUE + value)
        self._put_entry(self._place(raw_key, time), content)

    def _place(self, raw_key: bytes, valid_to: int) -> bytes:
        prefix = segment_prefix(valid_to // self.interval)
        return prefix + _LENGTH.pack(len(raw_key)) + raw_key + _time(valid_to)

    def _advance(self, time: int) -> None:
        self.marks.stream_time = time
        floor = (time - self.retention) // self.interval
        if floor > self.marks.floor:
            self._truncate(floor, segment_prefix(floor))
