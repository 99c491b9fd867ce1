"""The same events counted per user in the four kinds of windows.

| window | how events are put together |
|---|---|
| tumbling | [0, 5) [5, 10) … minutes: each event is in one |
| hopping | [0, 10) [5, 15) … minutes: each event is in two |
| sliding | all that are at most five minutes apart |
| session | until nothing comes for ten minutes |
"""

from __future__ import annotations

from datetime import timedelta

from headrace import KTable, SessionWindows, SlidingWindows, StreamsBuilder, TimeWindows, Windowed

FIVE, TEN = timedelta(minutes=5), timedelta(minutes=10)


def publish(counts: KTable[Windowed[str], int], topic: str) -> None:
    """One line per window: `user@start-end`, in minutes."""
    (
        counts.to_stream()
        # Sessions that grow are deleted first.
        .filter(lambda _, count: count is not None)
        .select_key(lambda w, _: f"{w.key}@{w.start / 60_000:g}-{w.end / 60_000:g}")
        .to(topic, value=int)
    )


builder = StreamsBuilder()
events = builder.stream("events", value=str).group_by_key()
publish(events.windowed_by(TimeWindows(FIVE)).count(store="tumbling"), "tumbling-counts")
publish(events.windowed_by(TimeWindows(TEN, advance=FIVE)).count(store="hopping"), "hopping-counts")
publish(events.windowed_by(SlidingWindows(FIVE)).count(store="sliding"), "sliding-counts")
publish(events.windowed_by(SessionWindows(TEN)).count(store="session"), "session-counts")
topology = builder.build()


if __name__ == "__main__":
    # Here and not above, because it brings Spark, which a test of the topology does not need.
    from headrace import Streams

    with Streams(topology, application_id="four-windows") as streams:
        streams.wait()
