"""Killing the processes of an application while it works through its input."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pytest

from headrace.failpoints import IN_DRIVER
from headrace.log import TopicLog, TopicPartition
from tests.chaos.drivers import TIMEOUT, Driver, Drivers
from tests.spark.harness import Part, append

ANY_TIME = ("driver at any time", "worker at any time")
"""Kills at no point in particular."""


def kill_all(
    log: TopicLog,
    application_id: str,
    processes: Drivers,
    inputs: Sequence[Part],
    points: Sequence[str],
    kills: int,
    capsys: pytest.CaptureFixture[str],
) -> Driver:
    """Feed all input, with so many kills on the way; the driver that runs in the end."""
    driver = processes.start()
    began = time.monotonic()
    for number in range(kills):
        point = points[number % len(points)]
        if point in ANY_TIME:
            append(log, inputs[number])
            driver.wait_until_running()
            time.sleep(random.random() / 2)
            if point == ANY_TIME[0]:
                driver.process.kill()
            else:
                driver.kill_a_worker()
        else:
            driver.arm(point)
            append(log, inputs[number])
            driver.wait_until_hit(point)
        if point in (*IN_DRIVER, ANY_TIME[0]):
            assert driver.wait() == -9
            driver = processes.start()
        with capsys.disabled():
            print(f"\n  kill {number + 1} of {kills}: {point}, {time.monotonic() - began:.0f} s", end="")
    for part in inputs[kills:]:
        append(log, part)
    driver.wait_until_running()
    wait_until_committed(log, application_id)
    return driver


def wait_until_committed(log: TopicLog, application_id: str) -> None:
    """Until all of the topic `in` is read, as the log says."""
    places = [TopicPartition("in", number) for number in range(log.topics()["in"])]
    deadline = time.monotonic() + TIMEOUT
    while log.positions(application_id) != log.latest(places):
        assert time.monotonic() < deadline, f"committed is {log.positions(application_id)}"
        time.sleep(0.05)
