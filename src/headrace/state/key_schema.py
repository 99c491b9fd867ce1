"""How Kafka Streams writes the keys of window and session stores: in a segment, in a changelog, in a range.

    window store    key | window start (8) | sequence number (4)
    session store   key | session end (8) | session start (8)

A backend's key has the number of the segment (8) in front, so that the oldest segment is the lowest range.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

MAX_TIME: Final = 2**63 - 1
MAX_SEQUENCE: Final = 2**31 - 1
MIN_SEGMENT_INTERVAL_MS: Final = 60_000

_LONG = Struct(">Q")
_WINDOW = Struct(">QI")
_SESSION = Struct(">QQ")

segment_prefix = _LONG.pack
"""The number of a segment as the first bytes of a backend's key."""
window_suffix = _WINDOW.pack
"""(start, sequence number) -> what follows the key in a window store."""
session_suffix = _SESSION.pack
"""(end, start) -> what follows the key in a session store."""

SEGMENT_SIZE: Final = _LONG.size


def segment_interval(retention_ms: int) -> int:
    """How much time one segment covers: half of the retention, but at least a minute."""
    return max(retention_ms // 2, MIN_SEGMENT_INTERVAL_MS)


def window_key(key: bytes, start: int, sequence: int = 0) -> bytes:
    """A window store's key, as in its changelog.

    >>> window_key(b"a", 1)
    b'a\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x00'
    """
    return key + _WINDOW.pack(start, sequence)


def split_window_key(raw: bytes) -> tuple[bytes, int, int]:
    """(key, window start, sequence number) of a window store's key."""
    start, sequence = _WINDOW.unpack_from(raw, len(raw) - 12)
    return raw[:-12], start, sequence


def window_time_and_key(entry: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """By what Kafka Streams' window stores in memory are sorted."""
    raw = entry[0]
    return raw[-12:-4], raw[:-12] + raw[-4:]


def session_key(key: bytes, start: int, end: int) -> bytes:
    """A session store's key, as in its changelog: the end comes first.

    >>> session_key(b"a", 1, 2)
    b'a\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01'
    """
    return key + _SESSION.pack(end, start)


def split_session_key(raw: bytes) -> tuple[bytes, int, int]:
    """(key, start, end) of a session store's key."""
    end, start = _SESSION.unpack_from(raw, len(raw) - 16)
    return raw[:-16], start, end


def session_time_and_key(entry: tuple[bytes, bytes]) -> tuple[bytes, bytes, int]:
    """By what Kafka Streams' session stores in memory are sorted: of equal ends the shorter session comes first."""
    raw = entry[0]
    return raw[-16:-8], raw[:-16], -int.from_bytes(raw[-8:])


def window_end(start: int, size_ms: int) -> int:
    """The end of a window of this size, exclusive; never beyond the greatest time."""
    return min(start + size_ms, MAX_TIME)


def upper_range(key: bytes, suffix: bytes) -> bytes:
    """Where a range of keys of different lengths ends, given the greatest suffix: as Kafka Streams has it.

    The bytes of a longer key stand where a shorter one has its suffix; so the bound keeps only as much of the
    key as cannot be below a suffix. (Where the suffix begins with zero, that is all of it.)
    """
    first = suffix[0]
    if first:
        size = 1
        while size < len(key) and key[size] >= first:
            size += 1
        key = key[:size]
    return key + suffix
