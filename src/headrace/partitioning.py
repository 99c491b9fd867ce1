"""Which partition a key belongs to: Kafka's murmur2, one key at a time or many at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    UInt32s: TypeAlias = NDArray[numpy.uint32]
    Partitions: TypeAlias = NDArray[numpy.int64]

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF
_LONGEST_CACHED = 128
# Fewer keys than this are hashed faster one by one than through numpy's fixed costs.
_FEW = 16
# So many at once stay in the processor's cache.
_BLOCK = 16_384


def murmur2(data: bytes) -> int:
    """The hash that Kafka's producers use for keys: a signed 32-bit number.

    >>> murmur2(b"21")
    -973932308
    """
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for start in range(0, whole, 4):
        k = (int.from_bytes(data[start : start + 4], "little") * _M) & _MASK
        k ^= k >> 24
        h = ((h * _M) & _MASK) ^ ((k * _M) & _MASK)
    if length != whole:
        h = ((h ^ int.from_bytes(data[whole:], "little")) * _M) & _MASK
    h ^= h >> 13
    h = (h * _M) & _MASK
    h ^= h >> 15
    return h - (1 << 32) if h >> 31 else h


@lru_cache(maxsize=65_536)
def _positive(key: bytes) -> int:
    return murmur2(key) & 0x7FFFFFFF


def partition_for(key: bytes, partitions: int) -> int:
    """The partition of a key among `partitions`, as Kafka's default partitioner has it.

    >>> partition_for(b"21", 4)
    0
    """
    if len(key) > _LONGEST_CACHED:
        return (murmur2(key) & 0x7FFFFFFF) % partitions
    return _positive(key) % partitions


def partitions_for(keys: Sequence[bytes | None], partitions: int, *, start: int = 0) -> Partitions:
    """The partition of every key; records without a key take turns, the first of them at `start`.

    >>> partitions_for([b"21", None, b"a-little-bit-long-string", None], 4).tolist()
    [0, 0, 0, 1]
    """
    # Lazy, because numpy takes longer to import than the rest of the library: a topology's unit test needs none.
    import numpy as np

    try:
        lengths = np.fromiter(map(len, keys), np.int64, len(keys))  # type: ignore[arg-type]
        present: Sequence[bytes] = keys  # type: ignore[assignment]
        missing = None
    except TypeError:  # some have no key, which is rare enough for the slower way
        lengths = np.fromiter((0 if key is None else len(key) for key in keys), np.int64, len(keys))
        present = [key for key in keys if key is not None]
        missing = np.fromiter((key is None for key in keys), np.bool_, len(keys))
    starts = np.cumsum(lengths) - lengths
    hashes = murmur2_many(np.frombuffer(b"".join(present), np.uint8), starts, lengths)
    result = (hashes & np.uint32(0x7FFFFFFF)).astype(np.int64) % partitions
    if missing is not None:
        result[missing] = (start + np.arange(int(missing.sum()))) % partitions
    return result


def murmur2_many(data: NDArray[numpy.uint8], starts: NDArray[Any], lengths: NDArray[Any]) -> UInt32s:
    """The hashes, as unsigned numbers, of the keys `data[start : start + length]`.

    This is the layout of an Arrow binary column, whose keys are thus hashed where they lie.
    """
    import numpy as np

    if len(lengths) > _BLOCK:
        blocks = range(0, len(lengths), _BLOCK)
        return np.concatenate(
            [murmur2_many(data, starts[at : at + _BLOCK], lengths[at : at + _BLOCK]) for at in blocks]
        )
    count = len(lengths)
    h = np.uint32(_SEED) ^ lengths.astype(np.uint32)
    m = np.uint32(_M)
    words = lengths >> 2
    # Longest first: the keys that still have a word left are always a prefix.
    order = np.argsort(-words, kind="stable")
    ascending = words[order][::-1]
    hashes, at = h[order], starts[order].astype(np.int64)
    step = 0
    while True:
        active = count - int(np.searchsorted(ascending, step, side="right"))
        if active < _FEW:
            break
        place = at[:active] + 4 * step
        k = data[place].astype(np.uint32)
        for byte in (1, 2, 3):
            k |= data[place + byte].astype(np.uint32) << np.uint32(8 * byte)
        k *= m
        k ^= k >> np.uint32(24)
        k *= m
        hashes[:active] = (hashes[:active] * m) ^ k
        step += 1
    _finish(data, starts, lengths, order, hashes, active)
    h[order] = hashes
    return h


def _finish(
    data: NDArray[numpy.uint8],
    starts: NDArray[Any],
    lengths: NDArray[Any],
    order: NDArray[Any],
    hashes: UInt32s,
    slow: int,
) -> None:
    """The last one to three bytes of each key and the final mix; the first `slow` keys from the beginning."""
    import numpy as np

    rest = order[slow:]
    h = hashes[slow:]
    m = np.uint32(_M)
    ends = starts[rest] + lengths[rest]
    tails = lengths[rest] & 3
    for byte in (2, 1, 0):
        has = tails > byte
        place = (ends - tails + byte)[has]
        h[has] ^= data[place].astype(np.uint32) << np.uint32(8 * byte)
    h[tails > 0] *= m
    h ^= h >> np.uint32(13)
    h *= m
    h ^= h >> np.uint32(15)
    for index in range(slow):
        begin = int(starts[order[index]])
        key = data[begin : begin + int(lengths[order[index]])].tobytes()
        hashes[index] = murmur2(key) & _MASK
