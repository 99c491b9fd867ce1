"""What the test driver makes of some input: the truth that runs on Spark are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from headrace.config import StreamsConfig
from headrace.task.lanes import merge_order
from headrace.testing import TopologyTestDriver
from headrace.topology.topology import Topology
from tests.spark.harness.records import Part, Rec


@dataclass(slots=True)
class Reference:
    """What was written to each topic of the user's, in order, and what is in the stores in the end."""

    outputs: dict[str, list[Rec]] = field(default_factory=dict)
    stores: dict[str, list[tuple[Any, Any]]] = field(default_factory=dict)
    answer: Any = None
    """What `ask` was told in the end."""

    def values(self, topic: str) -> list[bytes | None]:
        return [record.value for record in self.outputs.get(topic, [])]


def reference(
    topology: Topology,
    parts: Sequence[Part],
    *,
    stores: Sequence[str] = (),
    wait: timedelta = timedelta(0),
    ask: Callable[[TopologyTestDriver], Any] = lambda driver: None,
    **settings: Any,
) -> Reference:
    """Pipe the parts through the test driver, each in the order in which a task takes records of several topics; then
    let the wall clock go on.
    """
    config = StreamsConfig(application_id="reference", **settings)
    sources = [
        topic for sub in topology.sub_topologies() for source in sub.sources for topic in source.topics
    ]
    found = Reference()
    with TopologyTestDriver(topology, config, initial_wall_clock_time=0) as driver:
        for part in parts:
            for topic, record in _in_order(part, sources):
                driver.pipe_bytes(topic, *record)
        driver.advance_wall_clock_time(wait)
        internal = f"{config.application_id}-"
        for topic in driver.produced_topic_names():
            if not topic.startswith(internal):
                found.outputs[topic] = [Rec(*record) for record in driver.produced(topic)]
        for name in stores:
            store = driver.store(name)
            # Sessions are only asked for by keys, as in Kafka Streams.
            rows = store.all() if hasattr(store, "all") else store.fetch_range(None, None)
            found.stores[name] = list(rows)
        found.answer = ask(driver)
    return found


def _in_order(part: Part, sources: Sequence[str]) -> Iterator[tuple[str, Rec]]:
    # Global tables are complete before the rest is read.
    for topic in part:
        if topic not in sources:
            yield from ((topic, record) for record in part[topic])
    topics = [topic for topic in sources if part.get(topic)]
    places = [(topic, record) for topic in topics for record in part[topic]]
    for place in merge_order([[[record.timestamp for record in part[topic]]] for topic in topics]):
        yield places[place]
