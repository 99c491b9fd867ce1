"""Local stores are a cache: gone, they are made again from Kafka's changelogs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from functools import partial

from headrace import log_and_continue
from tests.chaos import counting_app
from tests.chaos.checks import check_output, check_stores, some_parts
from tests.kafka.broker import Broker
from tests.kafka.reading import read_committed
from tests.spark import optimized_topologies
from tests.spark.harness import Application, Rec, encoded, flat
from tests.spark.harness.processes import kill_workers

TODAY = time.time_ns() // 1_000_000


def test_a_lost_state_folder_is_rebuilt(application: Callable[..., Application], broker: Broker) -> None:
    inputs = some_parts(4)
    app = application(counting_app.topology)
    app.run(inputs[:2])
    app.batches.clear()
    shutil.rmtree(app.config.state_path)
    with app:
        assert app.streams is not None
        app.feed(*inputs[2:])
        check_stores(app.streams, inputs)
    assert "rebuilt" in app.recoveries()
    check_output(partial(read_committed, broker.bootstrap_servers), inputs)


def test_a_table_is_rebuilt_from_its_own_topic(
    application: Callable[..., Application], broker: Broker
) -> None:
    rows = {f"k{n}": n for n in range(50)}
    app = application(optimized_topologies.tables("all"), deserialization_handler=log_and_continue)
    written = [encoded(key, n, TODAY) for key, n in rows.items()]
    app.run([{"numbers": [*written, Rec(b"k7", b"text", TODAY), encoded("k3", None, TODAY)]}])
    shutil.rmtree(app.config.state_path)
    kill_workers(os.getpid())  # idle ones still have the files open
    app.batches.clear()
    with app:
        app.feed({"in": [encoded("k7", "seven", TODAY)]})
        assert app.streams is not None
        assert dict(app.streams.store("numbers").all()) == {k: n for k, n in rows.items() if k != "k3"}
    assert "rebuilt" in app.recoveries()
    assert [record.value for record in flat(app.read("joined"))] == [b"seven+7"]
    assert not [topic for topic in app.log.topics() if topic.endswith("numbers-changelog")]
