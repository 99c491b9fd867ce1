"""Duplicates: by key, by id, under a key; out of order, late and without identity; in every host."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from semantics.hosts import Pipe, everywhere
from semantics.scenarios.common import ms

from headrace import KStream, Materialized, StreamsBuilder, StreamsConfig, Topology, log_and_continue
from headrace.errors import CallbackError, InvalidArgumentError
from headrace.testing import TopologyTestDriver

WITHIN = 10


def built(apply: Callable[[KStream[str, str]], KStream[Any, Any]]) -> Topology:
    builder = StreamsBuilder()
    apply(builder.stream("in", value=str)).to("out", value=str)
    return builder.build()


def letter(key: str | None, value: str | None) -> str | None:
    return value[:1] or None if value else None


BY_KEY = built(lambda s: s.deduplicate(within=ms(WITHIN), store="seen"))
BY_ID = built(lambda s: s.deduplicate(within=ms(WITHIN), id=letter, store="seen"))
PER_KEY = built(lambda s: s.deduplicate(within=ms(WITHIN), id=letter, per_key=True, store="seen"))
NO_GRACE = built(lambda s: s.deduplicate(within=ms(WITHIN), id=letter, grace=ms(0), store="seen"))

TOPOLOGIES = {
    "by-key": (BY_KEY, lambda key, value: key, WITHIN),
    "by-id": (BY_ID, letter, WITHIN),
    "per-key": (
        PER_KEY,
        lambda key, value: (key, letter(key, value)) if key and letter(key, value) else None,
        WITHIN,
    ),
    "no-grace": (NO_GRACE, letter, 0),
}


def model(records: list[Pipe], identity: Callable[[Any, Any], Any], grace: int) -> tuple[list[Pipe], int]:
    """What passes, said in the simplest way: everything that has passed is looked at. And how many ids are known."""
    passed: list[tuple[Any, int, int]] = []
    out: list[Pipe] = []
    now = -1
    for record in records:
        now = max(now, record.timestamp)
        passed = [(i, t, since) for i, t, since in passed if since >= now - WITHIN - grace]
        found = identity(record.key, record.value)
        if found is not None:
            if any(i == found and abs(t - record.timestamp) <= WITHIN for i, t, _ in passed):
                continue
            passed.append((found, record.timestamp, now))
        out.append(record)
    return out, len({i for i, _, _ in passed})


records = st.lists(
    st.builds(
        Pipe,
        st.just("in"),
        st.sampled_from(["k1", "k2", None]),
        st.sampled_from(["a", "b", "ab", "", None]),
        st.integers(0, 80),
        st.sampled_from([(), (("h", b"1"),)]),
    ),
    max_size=30,
)


@pytest.mark.parametrize("name", TOPOLOGIES)
@settings(max_examples=25, deadline=None)
@given(records=records)
def test_every_host_gives_what_the_rule_says(name: str, records: list[Pipe]) -> None:
    topology, identity, grace = TOPOLOGIES[name]
    outcome = everywhere(topology, records, ["seen"])
    expected, known = model(records, identity, grace)
    raw = [
        (p.key and p.key.encode(), None if p.value is None else p.value.encode(), p.timestamp, p.headers)
        for p in expected
    ]
    assert outcome.outputs.get("out", []) == raw
    assert len(outcome.stores["seen"]) == known


def pipe(topology: Topology, *values: tuple[str | None, str, int], **settings: Any) -> list[tuple[Any, Any]]:
    config = StreamsConfig(application_id="app", **settings)
    with TopologyTestDriver(topology, config) as driver:
        for key, value, timestamp in values:
            driver.input("in").pipe(key, value, timestamp=timestamp)
        return driver.output("out").read_key_values()


def test_the_interval_counts_in_both_directions_and_both_ends_belong_to_it() -> None:
    found = pipe(BY_ID, ("k", "a1", 20), ("k", "a2", 10), ("k", "a3", 30), ("k", "a4", 31), ("k", "a5", 9))
    assert [value for _, value in found] == ["a1", "a4", "a5"]


def test_what_was_dropped_does_not_make_the_next_one_a_duplicate() -> None:
    found = pipe(BY_ID, *(("k", f"a{time}", time) for time in range(0, 40, 4)))
    assert [value for _, value in found] == ["a0", "a12", "a24", "a36"]


def test_by_id_it_does_not_matter_which_key_a_record_has() -> None:
    assert pipe(BY_ID, ("k1", "a1", 0), ("k2", "a2", 1)) == [("k1", "a1")]
    assert pipe(PER_KEY, ("k1", "a1", 0), ("k2", "a2", 1)) == [("k1", "a1"), ("k2", "a2")]


def test_without_identity_everything_passes() -> None:
    assert pipe(BY_KEY, (None, "a", 0), (None, "a", 0)) == [(None, "a"), (None, "a")]
    assert pipe(BY_ID, ("k", "", 0), ("k", "", 0)) == [("k", ""), ("k", "")]


def test_a_changed_key_is_brought_together_first_and_null_keys_are_kept() -> None:
    topology = built(lambda s: s.select_key(letter).deduplicate(within=ms(WITHIN), store="seen"))
    assert "seen-repartition" in str(topology.describe())
    assert pipe(topology, ("x", "a1", 0), ("y", "a2", 1), ("z", "", 2)) == [("a", "a1"), (None, "")]


def test_by_id_the_next_aggregation_repartitions_again() -> None:
    builder = StreamsBuilder()
    once = builder.stream("in", value=str).deduplicate(within=ms(WITHIN), id=letter, store="seen")
    once.group_by_key().count(store="counts").to_stream().to("out", value=int)
    topology = builder.build()
    assert {topic.name for topic in topology.repartition_topics} == {"seen-repartition", "counts-repartition"}
    assert pipe(topology, ("k1", "a", 0), ("k2", "a", 1), ("k1", "b", 2)) == [("k1", 1), ("k1", 2)]


def test_an_id_of_any_type_will_do() -> None:
    topology = built(lambda s: s.deduplicate(within=ms(WITHIN), id=lambda k, v: {"n": len(v)}))
    assert pipe(topology, ("k", "a", 0), ("k", "b", 1), ("k", "bb", 2)) == [("k", "a"), ("k", "bb")]


def test_an_id_that_cannot_be_made_goes_to_the_handler() -> None:
    topology = built(
        lambda s: s.deduplicate(within=ms(WITHIN), id=lambda k, v: v[3], per_key=True, name="once")
    )
    with pytest.raises(CallbackError, match=r"IndexError.*\n?.*once") as raised:
        pipe(topology, ("k", "a", 0))
    assert raised.value.origin is not None
    assert raised.value.origin.file == __file__
    passed = pipe(topology, ("k", "a", 0), ("k", "abcd", 1), processing_handler=log_and_continue)
    assert passed == [("k", "abcd")]


def test_old_ids_are_gone_and_the_changelog_says_so() -> None:
    with TopologyTestDriver(BY_KEY, StreamsConfig(application_id="app")) as driver:
        for time in range(0, 1000, 5):
            driver.input("in").pipe(f"k{time}", "v", timestamp=time)
            assert driver.store("seen").approximate_num_entries() <= 5
        changes = driver.produced("app-seen-changelog")
        assert sum(value is None for _, value, _, _ in changes) == 195
        rest: dict[bytes | None, bytes] = {}
        for key, value, _, _ in changes:
            rest.pop(key, None) if value is None else rest.update({key: value})
        assert [key.decode() for key in rest if key] == [key for key, _ in driver.store("seen").all()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"within": timedelta(0)}, "`within` must be at least one millisecond"),
        ({"within": 5}, "`within` takes a timedelta"),
        ({"within": ms(1), "grace": -ms(1)}, "`grace` must be zero or more"),
        ({"within": ms(1), "per_key": True}, "`per_key` says something about an id.*pass `id=`"),
        ({"within": ms(1), "id_type": str}, "`id_type` says something about an id"),
        ({"within": ms(1), "id": "order_id"}, r"`deduplicate` takes a function of \(key, value\)"),
        ({"within": ms(1), "store": Materialized(ttl=ms(5))}, "follows from `id_type`, `within`"),
        ({"within": ms(1), "store": Materialized(caching=True)}, "cannot have a cache"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message) as raised:
        built(lambda s: s.deduplicate(**options))
    assert __file__ in str(raised.value)
