"""The commit is made, but its answer is lost, or no broker answers for a while: the application goes on, and nothing is
doubled."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from headrace.app.states import State
from headrace.errors import BrokerNotReachableError
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


def test_brokers_that_do_not_answer_are_waited_for_as_long_as_the_setting_says(
    broker: Broker, proxy: Proxy, tmp_path: Path
) -> None:
    inputs = some_parts(3)
    log = open_log(LogConfig(bootstrap_servers=broker.bootstrap_servers))
    with applications(broker, tmp_path, f"away-{uuid.uuid4().hex[:8]}") as application:
        proxied = {"bootstrap_servers": broker.proxied_servers, "kafka": {"socket.timeout.ms": "3000"}}
        app = application(counting_app.topology, **proxied)
        with app:
            assert app.streams is not None
            life = app.streams._life
            app.feed(inputs[0])
            proxy.cut()
            append(log, inputs[1])
            assert life.wait_for(lambda: life.state is State.REBALANCING, 60)
            time.sleep(3)  # longer than the few starts take that any other error gets
            assert life.state is State.REBALANCING
            proxy.mend()
            app.catch_up()
            check_stores(app.streams, inputs[:2])
        impatient = application(counting_app.topology, task_timeout=timedelta(0), **proxied)
        with impatient:
            assert impatient.streams is not None
            impatient.feed(inputs[2])
            check_stores(impatient.streams, inputs)
            proxy.cut()
            with pytest.raises(BrokerNotReachableError, match="no Kafka broker answers"):
                impatient.streams.wait(60)
            assert impatient.streams.state is State.ERROR
        check_output(partial(read_committed, broker.bootstrap_servers), inputs)
