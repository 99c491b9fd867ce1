"""Keys go to the partition that Kafka's own producers choose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.partitioning import murmur2, murmur2_many, partition_for, partitions_for


def recorded() -> list[tuple[bytes, int]]:
    """Keys and their hashes, recorded from Kafka's own code by `data/Murmur2Fixture.java`."""
    lines = (Path(__file__).parent / "data" / "murmur2.txt").read_text().splitlines()
    return [(bytes.fromhex(line.rpartition(" ")[0]), int(line.rpartition(" ")[2])) for line in lines]


def test_one_key_hashes_as_in_kafka() -> None:
    """Every length of tail and both signs are among the recorded keys."""
    for key, expected in recorded():
        assert murmur2(key) == expected


def test_many_keys_hash_as_in_kafka() -> None:
    """The vectorised hash agrees, also for the few long keys that it hands to the scalar one."""
    keys, expected = zip(*recorded(), strict=True)
    lengths = np.array([len(key) for key in keys])
    hashes = murmur2_many(np.frombuffer(b"".join(keys), np.uint8), np.cumsum(lengths) - lengths, lengths)
    assert hashes.astype(np.int32).tolist() == list(expected)


def test_very_many_keys_hash_the_same() -> None:
    """They are done in blocks; the seams must not show."""
    keys = [b"%d" % (number * 7919) for number in range(40_000)]
    assert partitions_for(keys, 7).tolist() == [partition_for(key, 7) for key in keys]


@given(st.lists(st.binary(max_size=40), max_size=200), st.integers(1, 50))
def test_both_ways_choose_the_same_partition(keys: list[bytes], count: int) -> None:
    """One by one or all at once: the same partitions."""
    assert partitions_for(keys, count).tolist() == [partition_for(key, count) for key in keys]


@pytest.mark.parametrize("length", [0, 1, 128, 129, 5000])
def test_the_cache_changes_nothing(length: int) -> None:
    """Short keys are remembered, long ones are not; the answer is that of the hash both times."""
    key = bytes(range(256)) * 20
    for _ in range(2):
        assert partition_for(key[:length], 7) == (murmur2(key[:length]) & 0x7FFFFFFF) % 7


def test_records_without_a_key_take_turns() -> None:
    """They go round the partitions from `start`, wherever keyed records stand between them."""
    assert partitions_for([None, b"a", None, None, None], 3, start=2)[[0, 2, 3, 4]].tolist() == [2, 0, 1, 2]
    assert partitions_for([b"a"] + [None] * 4, 3)[0] == partition_for(b"a", 3)


def test_no_keys_at_all() -> None:
    """An empty column has no partitions."""
    assert partitions_for([], 3).tolist() == []
