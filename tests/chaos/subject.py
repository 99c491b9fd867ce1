"""An application that is killed again and again while it is fed, part by part: one part is one batch."""

from __future__ import annotations

import contextlib
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random

from headrace.config import StreamsConfig
from headrace.log import TopicLog, TopicPartition, open_log
from headrace.spark.commit import CommitRecord, decode
from headrace.spark.layout import Layout, lay_out
from headrace.spark.runtime import log_config
from tests.chaos.drivers import CLOCK, TIMEOUT, Driver, Drivers, drivers
from tests.chaos.kinds import PARTITIONS, Kind, part
from tests.parity.inputs import Batch
from tests.parity.tasks import Tasks
from tests.spark.harness import append, partition


@dataclass(slots=True)
class Subject:
    """The application of a kind, its topics, and the test drivers that are fed the same."""

    kind: Kind
    log: TopicLog
    config: StreamsConfig
    layout: Layout
    tasks: Tasks
    processes: Drivers
    driver: Driver
    folder: Path
    random: Random
    clock: int
    time: int

    def feed(self) -> None:
        """Append the next part, and let the clock go on: now a batch is planned."""
        records, self.time = part(self.kind, self.random, self.time)
        batch = Batch(self.clock + self.random.randint(1, 500))
        for topic, found in records.items():
            for record in found:
                batch.add(topic, record, partition(record.key, self.kind.topics[topic]))
        append(self.log, records)
        self.tasks.run(batch)
        self.tick(batch.clock)

    def tick(self, clock: int) -> None:
        """Set the clock of the application."""
        self.clock = clock
        file = self.folder / "failpoints" / CLOCK
        fresh = file.with_name(".clock")
        fresh.write_text(str(clock))
        fresh.replace(file)

    def settle(self, or_else: Callable[[], bool] = lambda: False) -> None:
        """Wait until all input is committed, and all that the application has sent to itself; or else for something."""
        deadline = time.monotonic() + TIMEOUT
        topics = (*self.kind.streams, *self.kind.tables)
        inputs = [TopicPartition(topic, number) for topic in topics for number in range(PARTITIONS)]
        ended = self.driver.process.poll
        while not or_else() and ((base := self.base()) is None or behind(base, self.log.latest(inputs))):
            assert ended() is None or or_else(), f"ended with {ended()}:\n{self.driver.said()}"
            assert time.monotonic() < deadline, f"committed is {base}:\n{self.driver.said()}"
            if base is not None and base.wall_clock >= self.clock:
                self.tick(self.clock + 1)  # for the batch that reads what the last one has sent
            time.sleep(0.02)

    def base(self) -> CommitRecord | None:
        """The newest commit."""
        found = self.log.committed(self.config.application_id)
        return None if found is None else decode(found, CommitRecord)

    def start(self) -> None:
        """A driver; the one before it is gone."""
        self.driver = self.processes.start()

    def start_first(self) -> None:
        """A driver that has committed once, without input: so the tasks begin at the time of the test drivers."""
        self.start()
        self.driver.wait_until_running()

    def lose_stores(self, older: Path | None = None) -> None:
        """Kill the driver, and take its local stores away; or put an older copy in their place."""
        self.driver.process.kill()
        self.driver.end()
        shutil.rmtree(self.config.state_path)
        if older is not None:
            shutil.copytree(older, self.config.state_path)

    def copy_stores(self) -> Path:
        """The local stores as they are now, while nothing is done."""
        older = self.folder / f"older-{uuid.uuid4().hex[:8]}"
        shutil.copytree(self.config.state_path, older)
        return older

    def stop(self) -> None:
        """As at Ctrl-C."""
        self.driver.process.terminate()
        assert self.driver.wait() == 0, self.driver.said()


def behind(base: CommitRecord, latest: Mapping[TopicPartition, int]) -> bool:
    """Whether there is more to read than a commit has read: of the input, or of what it has sent to itself, whose ends
    it knows.
    """
    if any(base.positions[place.topic][place.partition] < end for place, end in latest.items()):
        return True
    return any(
        position < end
        for topic, positions in base.positions.items()
        for position, end in zip(positions, base.ends.get(topic, ()), strict=False)
    )


@contextlib.contextmanager
def subject(
    kind: Kind, folder: Path, random: Random, *, servers: str | None = None, master: str | None = None
) -> Iterator[Subject]:
    """An application with its topics, not yet started. Its processes are ended, and on Kafka its topics deleted."""
    application_id = f"{kind.name.replace('_', '-')}-{uuid.uuid4().hex[:8]}"
    config = StreamsConfig(
        application_id=application_id,
        bootstrap_servers=servers,
        data_dir=str(folder / "data"),
        commit_interval=timedelta(milliseconds=1),
    )
    options = ["--application-id", application_id, "--data-dir", config.data_dir]
    options += [] if servers is None else ["--bootstrap-servers", servers]
    options += [] if master is None else ["--master", master]
    log = open_log(log_config(config))
    before = set(log.topics())
    (folder / "failpoints").mkdir(parents=True)
    # Of today, because a broker deletes what is older than changelogs keep.
    now = time.time_ns() // 1_000_000
    try:
        for topic, partitions in kind.topics.items():
            log.create_topic(topic, partitions, {"retention.ms": "-1"})
        layout = lay_out(kind.topology, application_id, kind.topics)
        tasks = Tasks(kind.topology, config, layout, kind.topics, now)
        with drivers(folder, str(kind.app.__file__), *options) as made:
            found = Subject(kind, log, config, layout, tasks, made, None, folder, random, now, now)  # type: ignore[arg-type]
            found.tick(now)
            yield found
        tasks.close()
    finally:
        if servers is not None:
            for topic in set(log.topics()) - before:
                log.delete_topic(topic)
        log.close()
