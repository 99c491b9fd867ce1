"""A scenario on Spark with the embedded log, batch by batch."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from headrace.config import StreamsConfig
from headrace.log.base import Outgoing
from headrace.topology.topology import Topology
from tests.parity.inputs import Batch
from tests.spark.harness import Application, Rec


class Scenario(Application):
    """An application whose wall clock stands in a file."""

    def __init__(
        self, topology: Topology, config: StreamsConfig, folder: Path, clock: Path, topics: dict[str, int]
    ) -> None:
        super().__init__(topology, folder, application_id=config.application_id, topics=topics)
        self.config = replace(config, data_dir=self.config.data_dir)
        self._clock = clock
        clock.write_text("0")

    def run_batch(self, batch: Batch) -> None:
        """Append the records, or move the clock, and wait for everything that follows."""
        assert self.streams is not None
        if batch.records:
            self.log.append([_outgoing(topic, parts) for topic, parts in batch.records.items()])
            self.catch_up()
            return
        fresh = self._clock.with_suffix(".new")
        fresh.write_text(str(batch.clock))
        fresh.replace(self._clock)
        deadline = time.monotonic() + 60
        while (due := self.batches[-1].commit.due) is not None and due <= batch.clock:
            assert time.monotonic() < deadline, f"punctuators due at {due} have not fired at {batch.clock}"
            assert not self.streams.state.has_ended, self.streams.error
            time.sleep(0.005)
        # What the punctuators wrote may be read again.
        self.catch_up()

    def written(self, topic: str) -> dict[int, list[Rec]]:
        return self.read(topic)


def _outgoing(topic: str, partitions: dict[int, list[Rec]]) -> Outgoing:
    rows = [(number, record) for number, records in partitions.items() for record in records]
    with_headers: Any = [record.headers for _, record in rows]
    return Outgoing(
        topic,
        [record.key for _, record in rows],
        [record.value for _, record in rows],
        [record.timestamp for _, record in rows],
        with_headers if any(with_headers) else None,
        [number for number, _ in rows],
    )
