"""`headrace reset` on a broker: internal topics and the consumer group go, outputs stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import StreamsBuilder
from headrace.admin.beginnings import Beginning
from headrace.admin.reset import plan_reset, reset
from headrace.admin.stopped import stopped
from headrace.errors import AlreadyRunningError
from headrace.log.commits import TOPOLOGY
from headrace.topology.topology import Topology
from tests.kafka.broker import Broker
from tests.spark.harness.records import Rec, by_key, flat
from tests.spark.harness.sparkless import Sparkless


def counting(name: str) -> Topology:
    builder = StreamsBuilder()
    words = builder.stream(f"{name}-in", value=str)
    words.group_by_key().count(store="counts").to_stream().to(f"{name}-out", value=int)
    return builder.build()


def test_a_reset_on_a_broker(broker: Broker, name: str, tmp_path: Path) -> None:
    topology = counting(name)
    app = Sparkless(
        topology, tmp_path, application_id=name, partitions=2, bootstrap_servers=broker.bootstrap_servers
    )
    try:
        records = [Rec(b"k%d" % (n % 5), b"v", n) for n in range(50)]
        app.start()
        app.feed({f"{name}-in": records})
        with pytest.raises(AlreadyRunningError, match="stop it first"), stopped(topology, app.config):
            pass
        app.stop()
        first = by_key(flat(app.read(f"{name}-out")))
        assert sum(app.log.positions(name).values()) == 50
        with stopped(topology, app.config) as found:
            plan = plan_reset(found)
            assert plan.topics == (f"{name}-counts-changelog", f"{name}-task-0-changelog")
            reset(found, plan)
        assert f"{name}-counts-changelog" not in app.log.topics()
        assert app.log.positions(name) == {}
        assert app.log.committed(name, TOPOLOGY) is None
        app.run([])
        again = by_key(flat(app.read(f"{name}-out")))
        assert {key: rows * 2 for key, rows in first.items()} == again
        with stopped(topology, app.config) as found:
            reset(found, plan_reset(found, Beginning(offset=10)))
        assert [app.log.positions(name)[f"{name}-in", p] for p in (0, 1)] == [10, 10]
    finally:
        app.close()
