"""A copy of the stores beside the driver, as on a cluster, holds what the stores hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import Materialized, StreamsBuilder, TimeWindows
from headrace.app.replica import Replica
from headrace.errors import StoreError
from headrace.spark.layout import lay_out
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


def test_a_copy_follows_the_changelogs(application: Callable[..., Any]) -> None:
    inputs = parts("in", count=4, size=50, keys=20)
    with application(topology) as app:
        app.feed(inputs[0], inputs[1])
        layout = lay_out(topology, "app", app.log.topics(), app.config.default_timestamp_extractor)
        replica = Replica(topology, layout, app.config, app.batches[-1].commit)
        try:
            counts, windows = replica.store("counts"), replica.store("windows")
            for part in (*inputs[2:], inputs[0]):
                assert list(counts.all()) == list(app.streams.store("counts").all())
                assert list(windows.all()) == list(app.streams.store("windows").all())
                assert counts.get("k1") == app.streams.store("counts").get("k1")
                app.feed(part)
                replica.committed(app.batches[-1].commit)
            with pytest.raises(StoreError, match=r"`unlogged` is on the hosts .* no changelog"):
                replica.store("unlogged")
            with pytest.raises(StoreError, match=r"`names` is on the hosts .* a global table"):
                replica.store("names")
        finally:
            replica.close()
        with pytest.raises(StoreError, match="closed"):
            counts.get("k1")
        again = Replica(topology, layout, app.config, app.batches[-1].commit)
        try:
            assert list(again.store("counts").all()) == list(app.streams.store("counts").all())
        finally:
            again.close()
