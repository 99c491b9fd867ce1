"""The second act of `make demo`: the application is killed in the middle of its work, and nothing is lost or doubled.

It runs as a process of its own (`headrace run`), since this one is to live on. The shop does not wait for it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

from examples.demo_shop import Shop, open_shop, say
from headrace import StreamsConfig
from headrace.log import TopicLog, TopicPartition
from headrace.testing import TopologyTestDriver

ALERTS, INPUT = "fraud-alerts", "transactions"
POINT = "publish.before"
"""Where the application is killed: see `headrace.failpoints`."""
PATIENCE = 120.0
"""Seconds that a slow machine may take to start Spark."""

Alerts = Mapping[bytes | None, list[tuple[bytes | None, int]]]
"""By user, in order: each alert as it is in the topic, and its time."""


def act_two(app: ModuleType, file: Path, folder: Path, stop: threading.Event, seconds: float) -> bool:
    """Run, kill, run again, compare. True when all came out as if nothing had happened."""
    config = StreamsConfig(application_id="fraud-detector", data_dir=str(folder))
    log = open_shop(config)
    shop = Shop(app, log, hurry=0.3)
    try:
        say("the same application in a process of its own, to be killed in the middle of its work")
        with Application(file, folder) as first:
            shop.start()
            wait(lambda: read_so_far(log) > 0, stop, first)
            stop.wait(seconds)
            in_flight = kill_in_mid_batch(first, log, shop, stop)
        say("it is dead; the shop goes on; starting it again …")
        with Application(file, folder) as second:
            dead_at = read_so_far(log)
            wait(lambda: read_so_far(log) > dead_at, stop, second)
            say(
                f"it goes on after transaction {dead_at:,}, where the last commit was: "
                f"it reads those {in_flight:,} again"
            )
            stop.wait(seconds / 2)
            shop.close()
            wait(lambda: read_so_far(log) == shop.sold, stop, second)
        if stop.is_set():
            return True
        return verdict(shop.sold, read_so_far(log), alerts_in(log), expected(app, log))
    finally:
        if shop.is_alive():
            shop.close()
        log.close()


def kill_in_mid_batch(application: Application, log: TopicLog, shop: Shop, stop: threading.Event) -> int:
    """Kill it when it has read and processed a batch, and nothing of that is in the log: how many records it was.

    Left to chance, the kill would often come between two batches, and show little.
    """
    with shop.quiet:
        wait(lambda: read_so_far(log) == shop.sold, stop, application)
        application.hold()
        shop.rush()
        wait(application.is_held, stop, application)
        read = read_so_far(log)
        say(
            f"kill -9 {application.pid}: {read:,} of {shop.sold:,} transactions are read and committed; "
            f"{shop.sold - read:,} more are in flight: processed, but what came of them is not in the log yet"
        )
        application.kill()
        return shop.sold - read


class Application:
    """`headrace run` in a process of its own; stopped at the end of the block, also at Ctrl-C."""

    def __init__(self, file: Path, folder: Path) -> None:
        command = [sys.executable, "-m", "headrace.cli.main", "run", str(file), "--data-dir", str(folder)]
        command += ["--application-id", "fraud-detector", "--quiet"]
        self._point = folder / "failpoints" / POINT
        self._point.parent.mkdir(parents=True, exist_ok=True)
        self._held = self._point.with_name(f"{POINT}.held")
        # In a session of its own, so that Ctrl-C reaches this process alone, which then stops that one.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "HEADRACE_FAILPOINTS": str(self._point.parent)},
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def ended(self) -> bool:
        return self._process.poll() is not None

    def hold(self) -> None:
        """Have it wait in the middle of its next batch."""
        self._point.write_text("hold")

    def is_held(self) -> bool:
        """Whether it waits there."""
        return self._held.exists() and self._held.read_text() == str(self.pid)

    def kill(self) -> None:
        """As a power switch would: it gets no chance to tidy up. Spark's processes notice, and end."""
        os.kill(self.pid, signal.SIGKILL)
        self._process.wait()
        self._held.unlink(missing_ok=True)

    def __enter__(self) -> Application:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.unlink(missing_ok=True)  # whatever it waits for, not for that any more
        if not self.ended():
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()


def wait(done: Callable[[], bool], stop: threading.Event, application: Application) -> None:
    """Until it is so, or the user has had enough."""
    until = time.monotonic() + PATIENCE
    while not done() and not stop.wait(0.05):
        if application.ended():
            raise SystemExit("the application ended by itself: see above")
        if time.monotonic() > until:
            raise SystemExit(f"the application has done nothing for {PATIENCE:.0f} s")


def read_so_far(log: TopicLog) -> int:
    """How many transactions are read and committed: what a commit says about itself."""
    positions = log.positions("fraud-detector")
    return sum(offset for place, offset in positions.items() if place.topic == INPUT)


def alerts_in(log: TopicLog) -> Alerts:
    """What the application has written, as any consumer would read it."""
    found: dict[bytes | None, list[tuple[bytes | None, int]]] = {}
    for key, value, timestamp in records(log, ALERTS):
        found.setdefault(key, []).append((value, timestamp))
    return found


def expected(app: ModuleType, log: TopicLog) -> Alerts:
    """What the test driver makes of the same input, in the order of time: no Spark, no batches, no crash."""
    found: dict[bytes | None, list[tuple[bytes | None, int]]] = {}
    with TopologyTestDriver(app.topology) as driver:
        for topic in ("risk-scores", INPUT):
            for key, value, timestamp in sorted(records(log, topic), key=lambda record: record[2]):
                driver.pipe_bytes(topic, key, value, timestamp)
        for key, value, timestamp, _ in driver.produced(ALERTS):
            found.setdefault(key, []).append((value, timestamp))
    return found


def records(log: TopicLog, topic: str) -> list[tuple[bytes | None, bytes | None, int]]:
    """All of a topic."""
    places = [TopicPartition(topic, number) for number in range(log.topics()[topic])]
    first, last = log.earliest(places), log.latest(places)
    return [
        row
        for chunk in log.read({place: (first[place], last[place]) for place in places})
        for row in zip(chunk.keys, chunk.values, chunk.timestamps, strict=True)
    ]


def verdict(sold: int, read: int, found: Alerts, wanted: Alerts) -> bool:
    """Print both sides, and whether they are the same: user by user, alert by alert, to the byte."""
    counts = [sum(map(len, alerts.values())) for alerts in (found, wanted)]
    print(f"  transactions  {sold:>7,} sold        {read:>7,} read by the application")
    print(
        f"  alerts        {counts[0]:>7,} written     {counts[1]:>7,} by the test driver, from the same input"
    )
    different = sorted(user or b"" for user in {*found, *wanted} if found.get(user) != wanted.get(user))
    if different or sold != read:
        users = ", ".join(user.decode() for user in different[:5])
        say(f"NOT THE SAME{': the alerts of ' + users if users else ''}: something was lost or doubled")
        return False
    say("nothing was lost, nothing was doubled")
    return True
