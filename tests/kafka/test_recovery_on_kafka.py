"""Local stores are a cache: gone, they are made again from Kafka's changelogs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial

from tests.chaos import counting_app
from tests.chaos.checks import check_output, check_stores, some_parts
from tests.kafka.broker import Broker
from tests.kafka.reading import read_committed
from tests.spark.harness import Application


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
