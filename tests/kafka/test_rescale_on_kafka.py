"""`headrace rescale` on a broker, where topics cannot shrink: changelogs are made anew, under their old names."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from headrace import StreamsBuilder, TimeWindows
from headrace.admin.rescale.moving import rescale
from headrace.admin.rescale.plan import plan_rescale
from headrace.admin.stopped import stopped
from headrace.errors import StartError
from headrace.topology.topology import Topology
from tests.kafka.broker import Broker
from tests.spark.harness.records import Part, Rec, by_key, flat
from tests.spark.harness.sparkless import Sparkless

NOW = time.time_ns() // 1_000_000
"""A broker deletes old windows by the clock."""


def counting(name: str) -> Topology:
    builder = StreamsBuilder()
    words = builder.stream(f"{name}-in", value=str)
    words.group_by_key().count(store="counts").to_stream().to(f"{name}-out", value=int)
    by_letter = words.group_by(lambda key, value: value[0])
    windows = TimeWindows(timedelta(seconds=1), grace=timedelta(seconds=5))
    by_letter.windowed_by(windows).count(store="windows").to_stream().to(f"{name}-windows", value=int)
    return builder.build()


def part(name: str, first: int) -> Part:
    numbers = range(first, first + 60)
    return {f"{name}-in": [Rec(b"k%d" % (n % 9), b"%c" % (97 + n % 5), NOW + 20 * n) for n in numbers]}


def grow(app: Sparkless, broker: Broker, topic: str, partitions: int) -> None:
    """More partitions for a topic, which the next producer knows."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result()
    app.log.close()


def test_down_and_up_on_a_broker_and_topics_that_have_grown(
    broker: Broker, name: str, tmp_path: Path
) -> None:
    topology = counting(name)
    app = Sparkless(
        topology, tmp_path, application_id=name, partitions=3, bootstrap_servers=broker.bootstrap_servers
    )

    def to(tasks: int) -> None:
        with stopped(topology, app.config) as found:
            rescale(found, plan_rescale(found, tasks))

    try:
        app.run([part(name, 0)])
        to(2)
        assert app.log.topics()[f"{name}-counts-changelog"] == 2
        assert app.log.describe(f"{name}-windows-changelog").config["cleanup.policy"] == "compact,delete"
        app.run([part(name, 60)])
        # Now keys have records in old partitions and in new ones: the tasks do not mind.
        grow(app, broker, f"{name}-in", 5)
        app.start()
        app.feed(part(name, 120))
        counts = dict(app.store("counts").all())
        app.stop()
        assert counts == {f"k{n}": 20 for n in range(9)}
        to(4)
        app.start()
        app.feed(part(name, 180))
        assert dict(app.store("counts").all()) == {f"k{n}": 27 if n < 6 else 26 for n in range(9)}
        app.stop()
        written = by_key(flat(app.read(f"{name}-out")))
        assert {key: [int.from_bytes(r.value or b"") for r in rows] for key, rows in written.items()} == {
            b"k%d" % n: list(range(1, counts[f"k{n}"] + (8 if n < 6 else 7))) for n in range(9)
        }
    finally:
        app.close()


def test_a_topic_that_has_grown_before_is_refused_and_the_way_out_told(
    broker: Broker, name: str, tmp_path: Path
) -> None:
    app = Sparkless(
        counting(name),
        tmp_path,
        application_id=name,
        partitions=2,
        bootstrap_servers=broker.bootstrap_servers,
    )
    try:
        app.run([part(name, 0)])
        grow(app, broker, f"{name}-in", 4)
        with pytest.raises(StartError, match="`headrace rescale --tasks 4`"):
            app.start()
        with stopped(app.topology, app.config) as found:
            rescale(found, plan_rescale(found, 4))
        app.start()
        app.feed(part(name, 60))
        assert sum(dict(app.store("counts").all()).values()) == 120
    finally:
        app.close()
