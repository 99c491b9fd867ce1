"""A record cache changes what is sent on the way, and nothing of what the tables hold in the end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Materialized, SessionWindows, SlidingWindows, StreamsBuilder, StreamsConfig, TimeWindows
from headrace.testing import TopologyTestDriver

LONG = timedelta(hours=1)
STORES = ("counts", "least", "hops", "near", "visits", "left", "right", "both", "sums", "even")

Batches = list[list[tuple[str, str, int | None, int]]]

batches = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(("left", "right")),
            st.sampled_from("abc"),
            st.one_of(st.none(), st.integers(-2, 5)),
            st.integers(0, 400),
        ),
        max_size=12,
    ),
    max_size=6,
)


def ms(number: int) -> timedelta:
    return timedelta(milliseconds=number)


def topology() -> Any:
    builder = StreamsBuilder()
    stream = builder.stream("events", value=int)
    grouped = stream.group_by_key()
    grouped.count(store="counts").to_stream().to("counted")
    grouped.reduce(lambda a, b: None if b < 0 else min(a, b), store="least").to_stream().to("lows")
    hops = grouped.windowed_by(TimeWindows(ms(50), advance=ms(20), grace=ms(100)))
    hops.count(store=Materialized("hops", retention=LONG)).to_stream().to("hopped")
    near = grouped.windowed_by(SlidingWindows(ms(30), grace=ms(100)))
    near.count(store=Materialized("near", retention=LONG)).to_stream().to("neared")
    visits = grouped.windowed_by(SessionWindows(gap=ms(20), grace=ms(100)))
    visits.count(store=Materialized("visits", retention=LONG)).to_stream().to("visited")
    left = builder.table("left", value=int, store="left")
    right = builder.table("right", value=int, store="right")
    both = left.outer_join(right, join=lambda a, b: f"{a}+{b}", value=str, store="both")
    both.to_stream().to("joined")
    left.filter(lambda key, value: value % 2 == 0, store="even").to_stream().to("evens")
    sums = left.group_by(lambda key, value: (str(value % 2), value), key=str, value=int)
    sums.reduce(lambda a, b: a + b, lambda a, b: a - b, store="sums").to_stream().to("summed")
    return builder.build()


def run(batches: Batches, size: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is in the stores, and the last value per key in the topics."""
    config = StreamsConfig(application_id="cached", statestore_cache_max_bytes=size)
    with TopologyTestDriver(topology(), config) as driver:
        for batch in batches:
            with driver.one_commit():
                for topic, key, value, timestamp in batch:
                    driver.input(topic).pipe(key, value, timestamp=timestamp)
                    driver.input("events").pipe(key, value, timestamp=timestamp)
        stores = {}
        for name in STORES:
            # Without timestamps: what deletes a row that is not there is not heard of, and so is its time.
            store = driver.store(name)
            stores[name] = list(store.fetch_range(None, None) if name == "visits" else store.all())
        # A group that came and went between two commits is never heard of.
        stores["sums"] = [(group, total) for group, total in stores["sums"] if total]
        topics = {}
        for topic in ("counted", "lows", "hopped", "neared", "visited", "joined", "evens", "summed"):
            last = driver.output(topic).read_key_values_to_map()
            topics[topic] = {key: value for key, value in last.items() if value}
        return stores, topics


@settings(max_examples=50, deadline=None)
@given(batches, st.sampled_from((200, 600, 10_000_000)))
def test_tables_end_the_same_with_a_cache_and_without(batches: Batches, size: int) -> None:
    assert run(batches, size) == run(batches, 0)
