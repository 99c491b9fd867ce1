"""Small topologies to make mistakes with."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headrace import KStream, Processor, Record, StreamsBuilder, Topology
from headrace.testing import TopologyTestDriver

S = timedelta(seconds=1)


def run(built: StreamsBuilder | Topology, *records: tuple[Any, Any], topic: str = "in") -> None:
    """Pipe the records through a driver."""
    topology = built.build() if isinstance(built, StreamsBuilder) else built
    with TopologyTestDriver(topology) as driver:
        for key, value in records:
            driver.input(topic).pipe(key, value, timestamp=0)


class Same(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)

    def __repr__(self) -> str:
        return "Same()"


def words(builder: StreamsBuilder | None = None, topic: str = "in") -> KStream[str, str]:
    return (builder or StreamsBuilder()).stream(topic, value=str)


def processed(supplier: Any, **options: Any) -> StreamsBuilder:
    builder = StreamsBuilder()
    words(builder).process(supplier, value=str, name="mine", **options).to("out")
    return builder


def made() -> TopologyTestDriver:
    builder = StreamsBuilder()
    stream = words(builder)
    stream.to("out")
    stream.group_by_key().count(store="counts")
    return TopologyTestDriver(builder.build())
