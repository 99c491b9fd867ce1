"""Stores of a limited size: what they keep, over commits, failed batches and rebuilds."""

from __future__ import annotations

import random
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from state_cases import Changelogs, no_changelog

from headrace import Materialized, StreamsBuilder, key_value_store
from headrace.errors import InvalidArgumentError
from headrace.serdes import serde_for
from headrace.state import memory_store
from headrace.state.local import Accepted, LocalReader, LocalState, Stamp
from headrace.testing import TopologyTestDriver
from headrace.topology.stores import StoreSpec

TEXT, NUMBER = serde_for(str), serde_for(int)
SPEC = StoreSpec("s", "key_value", TEXT, NUMBER, max_entries=5)


def test_the_row_that_was_used_longest_ago_makes_room() -> None:
    store = memory_store("s", key=str, value=int, max_entries=2)
    store.put_all([("a", 1), ("b", 2)])
    assert store.get("a") == 1
    store.put("c", 3)
    assert list(store.all()) == [("a", 1), ("c", 3)]
    assert store.approximate_num_entries() == 2


def test_iterating_is_no_use() -> None:
    store = memory_store("s", key=str, value=int, max_entries=2)
    store.put_all([("a", 1), ("b", 2)])
    assert list(store.range("a", "a")) == list(store.prefix_scan("a")) == [("a", 1)]
    store.put("c", 3)
    assert store.get("a") is None


@pytest.mark.parametrize("seed", range(5))
def test_batches_that_fail_leave_no_trace(tmp_path: Path, seed: int) -> None:
    """Rows, their order of use and the count are those of the accepted batches, whatever happens between."""
    pick = random.Random(seed)
    state = LocalState(tmp_path, [SPEC])
    logs, accepted = Changelogs(), Accepted()
    kept: OrderedDict[str, int] = OrderedDict()
    state.prepare(accepted, no_changelog)
    store: Any = state.store("s", key=TEXT, value=NUMBER)
    for batch in range(40):
        before = kept.copy()
        for _ in range(pick.randrange(12)):
            key = f"k{pick.randrange(12)}"
            match pick.randrange(4):
                case 0:
                    assert store.get(key) == kept.get(key)
                    if key in kept:
                        kept.move_to_end(key)
                case 1:
                    assert store.delete(key) == kept.pop(key, None)
                case _:
                    kept[key] = batch
                    kept.move_to_end(key)
                    store.put(key, batch)
                    if len(kept) > 5:
                        kept.popitem(last=False)
        assert list(store.all()) == sorted(kept.items())
        stamp, changes = Stamp("i", batch, str(batch)), state.changes()
        written = state.commit(stamp, accepted) if pick.random() < 0.8 else False
        if written and pick.random() < 0.7:
            logs.publish(changes)
            accepted = logs.accepted(stamp)
        else:
            kept = before
        state.prepare(accepted, no_changelog)
    state.close()
    rebuilt = LocalState(tmp_path / "elsewhere", [SPEC])
    rebuilt.prepare(accepted, logs.read)
    again: Any = rebuilt.store("s", key=TEXT, value=NUMBER)
    assert list(again.all()) == sorted(kept.items())
    reader = LocalReader(tmp_path / "elsewhere", [SPEC])
    assert list(reader.store("s", key=TEXT, value=NUMBER).all()) == sorted(kept.items())  # type: ignore[union-attr]
    reader.close()
    rebuilt.close()


def test_a_rebuilt_store_knows_the_order_of_the_writes(tmp_path: Path) -> None:
    state = LocalState(tmp_path / "a", [SPEC])
    state.prepare(Accepted(), no_changelog)
    store: Any = state.store("s", key=TEXT, value=NUMBER)
    store.put_all([(key, 1) for key in "abcde"])
    store.put("a", 2)
    logs, stamp = Changelogs(), Stamp("i", 1, "x")
    logs.publish(state.changes())
    state.close()
    rebuilt = LocalState(tmp_path / "b", [SPEC])
    rebuilt.prepare(logs.accepted(stamp), logs.read)
    again: Any = rebuilt.store("s", key=TEXT, value=NUMBER)
    again.put("f", 3)
    assert [key for key, _ in again.all()] == ["a", "c", "d", "e", "f"]
    rebuilt.close()


def test_an_aggregate_may_have_a_limited_store() -> None:
    builder = StreamsBuilder()
    counts = Materialized[str, int]("counts", max_entries=2)
    builder.stream("in", value=str).group_by_key().count(store=counts).to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        for key in ["a", "b", "a", "c", "b"]:
            driver.input("in").pipe(key, "x")
        assert driver.output("out").read_key_values() == [("a", 1), ("b", 1), ("a", 2), ("c", 1), ("b", 1)]


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "9"])
def test_a_limit_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="`max_entries` must be a whole number of at least 1, got"):
        key_value_store("s", max_entries=wrong)
