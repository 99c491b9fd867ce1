"""`make demo`: the fraud detector on Spark, with topics in a folder and a shop that makes up transactions.

Ends by itself after a minute, or at Ctrl-C.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from types import ModuleType

from headrace import Streams, StreamsConfig
from headrace.cli.load import find_topology, load_module
from headrace.log import LogConfig, Outgoing, TopicLog, TopicPartition, open_log
from headrace.serdes import serde_for

FOLDER = Path(".headrace/demo")
USERS = [f"user-{number:03}" for number in range(500)]
RISKY = USERS[::10]
PER_SECOND = 400


def main() -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long to run (default 60)")
    seconds = parser.parse_args().seconds
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())

    shutil.rmtree(FOLDER, ignore_errors=True)
    # As `headrace run` does it: under the file's own name, so that the workers find its classes.
    app = load_module(Path(__file__).with_name("fraud_detector.py"))
    config = StreamsConfig(application_id="fraud-detector", data_dir=str(FOLDER))
    log = open_log(LogConfig(directory=str(config.log_path)))
    for topic in ("risk-scores", "transactions", "fraud-alerts"):
        log.create_topic(topic, partitions=config.default_partitions)
    publish_scores(log)

    topology = find_topology(app)
    say("the topology, as Kafka Streams would describe it")
    print(topology.describe())
    say("starting Spark (some seconds) …")
    with Streams(topology, config) as streams:
        streams.wait_until_running()
        say(f"running; a shop reports {PER_SECOND} transactions a second; alerts:")
        shop = threading.Thread(target=sell, args=(app, log, stop), daemon=True)
        shop.start()
        watch(streams, Alerts(app, log), stop, time.monotonic() + seconds)
        stop.set()
        shop.join()
        say("asking the store `session-count-store` for some users' sessions, as of the last commit:")
        for user in RISKY[:8]:
            for window, count in streams.store("session-count-store").fetch(user):
                print(
                    f"  {user}  {clock(window.start)} – {clock(window.end)}  {count} dangerous transactions"
                )
        say("stopping between two commits …")
    log.close()
    farewell()
    return 0


def publish_scores(log: TopicLog) -> None:
    """Everybody's risk: a compacted topic would hold it in real life."""
    score = serde_for(int).serialize
    scores = [score(90 if user in RISKY else 20) for user in USERS]
    now = round(time.time() * 1000)
    log.append([Outgoing("risk-scores", [user.encode() for user in USERS], scores, [now] * len(USERS))])


def sell(app: ModuleType, log: TopicLog, stop: threading.Event) -> None:
    """Harmless transactions all the time, and now and then somebody in a hurry."""
    write = serde_for(app.Transaction).serialize
    rng = random.Random(7)
    made = 0
    while not stop.wait(0.1):
        sales = [(rng.choice(USERS), round(rng.uniform(1, 900), 2)) for _ in range(PER_SECOND // 10)]
        if rng.random() < 0.05:
            thief = rng.choice(RISKY)
            sales += [(thief, round(rng.uniform(1100, 5000), 2)) for _ in range(rng.randint(3, 4))]
        now = round(time.time() * 1000)
        keys = [f"tx-{made + i}".encode() for i in range(len(sales))]
        values = [write(app.Transaction(user, amount)) for user, amount in sales]
        log.append([Outgoing("transactions", keys, values, [now] * len(sales))])
        made += len(sales)


class Alerts:
    """Reads new alerts from their topic, as any consumer would."""

    def __init__(self, app: ModuleType, log: TopicLog) -> None:
        self.log = log
        self.read = serde_for(app.Alert).deserialize
        partitions = [TopicPartition("fraud-alerts", p) for p in range(log.topics()["fraud-alerts"])]
        self.positions = dict(log.latest(partitions))

    def show(self) -> None:
        ends = self.log.latest(self.positions)
        ranges = {tp: (at, ends[tp]) for tp, at in self.positions.items() if ends[tp] > at}
        for chunk in self.log.read(ranges):
            for value, timestamp in zip(chunk.values, chunk.timestamps, strict=True):
                if value is not None:
                    alert, delay = self.read(value), time.time() - timestamp / 1000
                    print(
                        f"  {clock(timestamp)}  {alert.user_id}: {alert.count} dangerous transactions "
                        f"since {clock(alert.since)}  (seen {delay:.1f} s later)"
                    )
        self.positions.update(ends)


def watch(streams: Streams, alerts: Alerts, stop: threading.Event, until: float) -> None:
    """Alerts as they come, and every ten seconds how fast it goes."""
    next_report = time.monotonic() + 10
    while not stop.wait(0.2) and time.monotonic() < until and not streams.state.has_ended:
        alerts.show()
        if time.monotonic() >= next_report:
            next_report += 10
            metrics = streams.metrics
            say(
                f"{metrics.records:,} records in {metrics.commits:,} commits so far, "
                f"{metrics.rate():,.0f} a second, {metrics.outputs:,} alerts"
            )
    streams.wait(0)  # raises the error, if one ended it
    alerts.show()


def farewell() -> None:
    headrace = Path(sys.executable).with_name("headrace")
    command = headrace.relative_to(Path.cwd()) if headrace.is_relative_to(Path.cwd()) else headrace.name
    tips = {
        f"{command} topics list --data-dir {FOLDER}": "what the demo left behind",
        f"{command} consume fraud-alerts --data-dir {FOLDER}": "the alerts again",
        f"{command} run examples/word_count.py": "another application",
        "less examples/fraud_detector.py": "how little code it is",
        "less docs/tutorial/first-application.md": "your own",
    }
    say("what to try next:")
    for tip, why in tips.items():
        print(f"  {tip:<{max(map(len, tips))}}  {why}")


def clock(timestamp: int) -> str:
    return datetime.fromtimestamp(timestamp / 1000).strftime("%H:%M:%S")


def say(text: str) -> None:
    print(f"\033[1m— {text}\033[0m" if sys.stdout.isatty() else f"— {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
