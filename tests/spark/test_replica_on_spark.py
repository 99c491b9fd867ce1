"""A copy of the stores beside the driver, as on a cluster, holds what the stores hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import Materialized, StreamsBuilder, TimeWindows
from headrace.app.replica import Replica
from headrace.errors import StoreError
from headrace.spark.ship import Shipment
from tests.spark.harness.inputs import parts

builder = StreamsBuilder()
words = builder.stream("in", value=str)
words.group_by_key().count(store="counts")
words.group_by_key().reduce(lambda one, other: other, store=Materialized("unlogged", logging=False))
words.group_by(lambda key, value: value[0]).windowed_by(
    TimeWindows(timedelta(milliseconds=50), grace=timedelta(0))
).count(store="windows")
builder.global_table("names", value=str, store="names")
topology = builder.build()


def replica_of(app: Any) -> Replica:
    last = app.batches[-1]
    shipment = Shipment("run", last.commit.incarnation, topology, app.config, app.log.topics(), 1)
    replica = Replica(topology, app.config, shipment, last.commit)
    replica.committed(last.commit, last.globals)
    return replica


def test_a_copy_follows_the_changelogs(application: Callable[..., Any]) -> None:
    inputs = parts("in", "names", count=4, size=100, keys=20)
    with application(topology) as app:
        app.feed(inputs[0], inputs[1])
        replica = replica_of(app)
        try:
            counts, windows, names = (replica.store(name) for name in ("counts", "windows", "names"))
            for part in (*inputs[2:], inputs[0]):
                assert list(counts.all()) == list(app.streams.store("counts").all())
                assert list(windows.all()) == list(app.streams.store("windows").all())
                assert counts.get("k1") == app.streams.store("counts").get("k1")
                assert list(names.all()) == list(app.streams.store("names").all())
                app.feed(part)
                replica.committed(app.batches[-1].commit, app.batches[-1].globals)
            with pytest.raises(StoreError, match=r"`unlogged` is on the hosts .* has no changelog"):
                replica.store("unlogged")
        finally:
            replica.close()
        with pytest.raises(StoreError, match="closed"):
            counts.get("k1")
        again = replica_of(app)
        try:
            assert list(again.store("counts").all()) == list(app.streams.store("counts").all())
        finally:
            again.close()
