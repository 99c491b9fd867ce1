"""The commit is made, but its answer is lost: the application goes on, and nothing is doubled."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from headrace.log import LogConfig, open_log
from tests.chaos import counting_app
from tests.chaos.checks import check_output, check_stores, some_parts
from tests.kafka.applications import applications
from tests.kafka.broker import Broker
from tests.kafka.proxy import END_TXN, Proxy
from tests.kafka.reading import read_committed
from tests.spark.harness import append


@pytest.fixture
def proxy(broker: Broker) -> Iterator[Proxy]:
    broker.proxy.mend()
    yield broker.proxy
    broker.proxy.mend()


def test_a_commit_whose_answer_was_lost_counts_once(broker: Broker, proxy: Proxy, tmp_path: Path) -> None:
    inputs = some_parts(5)
    log = open_log(LogConfig(bootstrap_servers=broker.bootstrap_servers))
    with applications(broker, tmp_path, f"lost-{uuid.uuid4().hex[:8]}") as application:
        app = application(
            counting_app.topology,
            bootstrap_servers=broker.proxied_servers,
            # How long a client waits for an answer.
            kafka={"socket.timeout.ms": "3000"},
        )
        with app:
            assert app.streams is not None
            app.feed(inputs[0])
            # Lost, and nothing else is wrong.
            proxy.swallow_answer(END_TXN)
            app.feed(inputs[1])
            assert proxy.swallowed.is_set()
            app.feed(inputs[2])
            # Lost with all connections, and for a while there are no new ones.
            proxy.swallow_answer(END_TXN, cut=True)
            append(log, inputs[3])
            assert proxy.swallowed.wait(60)
            time.sleep(2)
            proxy.mend()
            app.feed(inputs[4])
            check_stores(app.streams, inputs)
        check_output(partial(read_committed, broker.bootstrap_servers), inputs)
