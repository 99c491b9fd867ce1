"""`make demo`: the fraud detector on Spark, with topics in a folder and a shop that makes up transactions.

The first act shows it at work. In the second it is killed, and goes on as if nothing had happened. Ends by itself after
about a minute, or at Ctrl-C; the exit code is 1 if anything was lost or doubled.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from types import ModuleType

from examples.demo_crash import act_two
from examples.demo_shop import PER_SECOND, RISKY, Shop, open_shop, say
from headrace import Streams, StreamsConfig
from headrace.cli.load import find_topology, load_module
from headrace.log import TopicLog, TopicPartition
from headrace.serdes import serde_for

FOLDER = Path(".headrace/demo")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--seconds", type=float, default=16, help="how long the first act runs (default 16)")
    parser.add_argument("--act", type=int, choices=[1, 2], help="only this one")
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="where the topics are (default %(default)s)"
    )
    args = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())

    shutil.rmtree(args.folder, ignore_errors=True)
    # As `headrace run` does it: under the file's own name, so that the workers find its classes.
    file = Path(__file__).with_name("fraud_detector.py")
    app = load_module(file)
    good = True
    if args.act in (None, 1):
        act_one(app, args.folder, stop, args.seconds)
    if args.act in (None, 2) and not stop.is_set():
        good = act_two(app, file, args.folder / "killed", stop, args.seconds / 4)
    farewell(args.folder)
    return 0 if good else 1


def act_one(app: ModuleType, folder: Path, stop: threading.Event, seconds: float) -> None:
    """The fraud detector at work: alerts as they come, and its store asked while it runs."""
    config = StreamsConfig(application_id="fraud-detector", data_dir=str(folder))
    log = open_shop(config)
    shop = Shop(app, log)
    topology = find_topology(app)
    say("the topology, as Kafka Streams would describe it")
    print(topology.describe())
    say("starting Spark (some seconds) …")
    with Streams(topology, config) as streams:
        streams.wait_until_running()
        say(f"running; a shop reports {PER_SECOND} transactions a second; alerts:")
        shop.start()
        watch(streams, Alerts(app, log), stop, time.monotonic() + seconds)
        shop.close()
        say("asking the store `session-count-store` for some users' sessions, as of the last commit:")
        for user in RISKY[:8]:
            for window, count in streams.store("session-count-store").fetch(user):
                print(
                    f"  {user}  {clock(window.start)} – {clock(window.end)}  {count} dangerous transactions"
                )
        say("stopping between two commits …")
    log.close()


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


def farewell(folder: Path) -> None:
    headrace = Path(sys.executable).with_name("headrace")
    command = headrace.relative_to(Path.cwd()) if headrace.is_relative_to(Path.cwd()) else headrace.name
    tips = {
        f"{command} topics list --data-dir {folder}": "what the demo left behind",
        f"{command} consume fraud-alerts --data-dir {folder}": "the alerts again",
        f"{command} run examples/word_count.py": "another application",
        "less examples/fraud_detector.py": "how little code it is",
        "less docs/tutorial/first-application.md": "your own",
    }
    say("what to try next:")
    for tip, why in tips.items():
        print(f"  {tip:<{max(map(len, tips))}}  {why}")


def clock(timestamp: int) -> str:
    return datetime.fromtimestamp(timestamp / 1000).strftime("%H:%M:%S")


if __name__ == "__main__":
    sys.exit(main())
