"""The same steps through every kind of host: what Kafka Streams does not have must at least agree with itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

from semantics.batches import BatchHost

from headrace.config import StreamsConfig
from headrace.record import NO_HEADERS, Headers
from headrace.serdes import serde_for
from headrace.testing import TopologyTestDriver
from headrace.topology.topology import Topology


class Pipe(NamedTuple):
    """A record comes."""

    topic: str
    key: Any
    value: Any
    timestamp: int
    headers: Headers = NO_HEADERS


class Wait(NamedTuple):
    """Only the wall clock goes on."""

    milliseconds: int


Step: TypeAlias = Pipe | Wait
Raw: TypeAlias = tuple[bytes | None, bytes | None, int, Headers]


class Outcome(NamedTuple):
    """What was written to the user's topics, as bytes, and what is in the stores."""

    outputs: dict[str, list[Raw]]
    stores: dict[str, list[Any]]

    def values(self, topic: str, kind: type[Any]) -> list[Any]:
        read = serde_for(kind).deserialize
        return [None if value is None else read(value) for _, value, _, _ in self.outputs.get(topic, [])]


Run: TypeAlias = Callable[[Topology, Sequence[Step], Sequence[str], StreamsConfig], Outcome]
CONFIG = StreamsConfig(application_id="hosts", default_value=str)


def in_driver(
    topology: Topology, steps: Sequence[Step], stores: Sequence[str], config: StreamsConfig
) -> Outcome:
    """One record at a time, in memory."""
    return _drive(topology, steps, stores, config)


def with_restarts(
    topology: Topology, steps: Sequence[Step], stores: Sequence[str], config: StreamsConfig
) -> Outcome:
    """A restart before each step."""
    return _drive(topology, steps, stores, config, restarts=True)


def on_disk(
    topology: Topology, steps: Sequence[Step], stores: Sequence[str], config: StreamsConfig
) -> Outcome:
    """The driver's stores in LMDB."""
    with TemporaryDirectory() as folder:
        return _drive(topology, steps, stores, config, state_dir=folder)


def in_batches(
    topology: Topology, steps: Sequence[Step], stores: Sequence[str], config: StreamsConfig
) -> Outcome:
    """Batches over LMDB, sub-topology after sub-topology."""
    return _batches(topology, steps, stores, config, lose_stores=False)


def with_lost_stores(
    topology: Topology, steps: Sequence[Step], stores: Sequence[str], config: StreamsConfig
) -> Outcome:
    """Batches, each of which rebuilds its stores from their changelogs."""
    return _batches(topology, steps, stores, config, lose_stores=True)


HOSTS: tuple[Run, ...] = (in_driver, with_restarts, on_disk, in_batches, with_lost_stores)


def everywhere(
    topology: Topology, steps: Sequence[Step], stores: Sequence[str] = (), config: StreamsConfig = CONFIG
) -> Outcome:
    """The outcome, after a look that all hosts agree on it."""
    expected = in_driver(topology, steps, stores, config)
    for host in HOSTS[1:]:
        assert host(topology, steps, stores, config) == expected, host.__doc__
    return expected


def _bytes(value: Any) -> bytes | None:
    return None if value is None else serde_for(type(value)).serialize(value)


def _drive(
    topology: Topology,
    steps: Sequence[Step],
    stores: Sequence[str],
    config: StreamsConfig,
    *,
    restarts: bool = False,
    state_dir: str | None = None,
) -> Outcome:
    with TopologyTestDriver(topology, config, initial_wall_clock_time=0, state_dir=state_dir) as driver:
        for step in steps:
            if restarts:
                driver.restart()
            if isinstance(step, Wait):
                driver.advance_wall_clock_time(timedelta(milliseconds=step.milliseconds))
            else:
                topic, key, value, timestamp, headers = step
                driver.pipe_bytes(topic, _bytes(key), _bytes(value), timestamp, headers)
        internal = f"{config.application_id}-"
        outputs = {
            topic: list(driver.produced(topic))
            for topic in driver.produced_topic_names()
            if not topic.startswith(internal)
        }
        rows = {name: list(driver.get_state_store(name).all()) for name in stores}
        return Outcome({topic: records for topic, records in outputs.items() if records}, rows)


def _batches(
    topology: Topology,
    steps: Sequence[Step],
    stores: Sequence[str],
    config: StreamsConfig,
    *,
    lose_stores: bool,
) -> Outcome:
    random, wall_clock = Random(len(steps)), 0
    outputs: dict[str, list[Raw]] = {}
    with TemporaryDirectory() as folder:
        host = BatchHost(topology, config, Path(folder))

        def run(pipes: Sequence[Pipe]) -> None:
            inputs: list[tuple[str, list[Any]]] = []
            if pipes:
                records = [(_bytes(p.key), _bytes(p.value), p.timestamp, p.headers) for p in pipes]
                inputs = [(pipes[0].topic, records)]
            for taken in host.run(inputs, lose_stores=lose_stores, wall_clock=wall_clock):
                headers = taken.headers or [NO_HEADERS] * len(taken)
                columns = zip(taken.keys, taken.values, taken.timestamps, headers, strict=True)
                outputs.setdefault(taken.topic, []).extend(columns)

        # A batch takes records of several topics in the order of their time: here a batch has one topic.
        for kind, group in groupby(steps, key=lambda step: None if isinstance(step, Wait) else step.topic):
            waiting: list[Any] = list(group)
            if kind is None:
                for step in waiting:
                    wall_clock += step.milliseconds
                    run([])
            while kind is not None and waiting:
                size = random.randint(1, 6)
                run(waiting[:size])
                waiting = waiting[size:]
        rows = {name: list(host.store(name).all()) for name in stores}
        host.close()
    return Outcome(outputs, rows)
