"""The shop of `make demo`: users with a risk score, and transactions made up as time goes by."""

from __future__ import annotations

import random
import sys
import threading
import time
from types import ModuleType

from headrace import StreamsConfig
from headrace.log import LogConfig, Outgoing, TopicLog, open_log
from headrace.serdes import serde_for

USERS = [f"user-{number:03}" for number in range(500)]
RISKY = USERS[::10]
PER_SECOND = 400


def open_shop(config: StreamsConfig) -> TopicLog:
    """The log with the topics of the fraud detector, and everybody's risk in it."""
    log = open_log(LogConfig(directory=str(config.log_path)))
    for topic in ("risk-scores", "transactions", "fraud-alerts"):
        log.create_topic(topic, partitions=config.default_partitions)
    score = serde_for(int).serialize
    scores = [score(90 if user in RISKY else 20) for user in USERS]
    now = round(time.time() * 1000)
    log.append([Outgoing("risk-scores", [user.encode() for user in USERS], scores, [now] * len(USERS))])
    return log


class Shop(threading.Thread):
    """Harmless transactions all the time, and now and then somebody in a hurry."""

    def __init__(self, app: ModuleType, log: TopicLog, *, hurry: float = 0.05) -> None:
        super().__init__(daemon=True)
        self.sold = 0
        self.quiet = threading.Lock()
        """Whoever holds it is alone in the shop: nothing is sold meanwhile."""
        self._app, self._log, self._hurry = app, log, hurry
        self._write = serde_for(app.Transaction).serialize
        self._rng = random.Random(7)
        self._closing = threading.Event()

    def run(self) -> None:
        while not self._closing.wait(0.1):
            with self.quiet:
                self._sell(PER_SECOND // 10, thieves=int(self._rng.random() < self._hurry))

    def rush(self) -> None:
        """Two thousand transactions in one step: a batch has all of them or none. For who has made it `quiet`."""
        self._sell(2_000, thieves=5)

    def _sell(self, count: int, *, thieves: int) -> None:
        rng = self._rng
        sales = [(rng.choice(USERS), round(rng.uniform(1, 900), 2)) for _ in range(count)]
        for thief in rng.sample(RISKY, thieves):
            sales += [(thief, round(rng.uniform(1100, 5000), 2)) for _ in range(rng.randint(3, 4))]
        now = round(time.time() * 1000)
        keys = [f"tx-{self.sold + i}".encode() for i in range(len(sales))]
        values = [self._write(self._app.Transaction(user, amount)) for user, amount in sales]
        self._log.append([Outgoing("transactions", keys, values, [now] * len(sales))])
        self.sold += len(sales)

    def close(self) -> None:
        """Sell no more."""
        self._closing.set()
        self.join()


def say(text: str) -> None:
    print(f"\033[1m— {text}\033[0m" if sys.stdout.isatty() else f"— {text}", flush=True)
