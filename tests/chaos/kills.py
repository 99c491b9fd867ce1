"""Killing the processes of an application while it works through its input."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random

from headrace.failpoints import HOLD, IN_RECOVERY, IN_UPKEEP
from headrace.log import TopicLog
from headrace.log.embedded import EmbeddedLog
from tests.chaos.drivers import process_environment
from tests.chaos.kinds import KINDS
from tests.chaos.schedule import ANY_TIME, CATCH_UP, FIRST_COMMIT, Kill, Round, passes
from tests.chaos.subject import Subject, subject
from tests.chaos.verify import check_output, check_stores
from tests.kafka.reading import read_committed
from tests.spark.harness import read_topic

ENDS_THE_DRIVER = {"driver": -9, "jvm": 1}
"""Victims without which a driver cannot go on, and the exit code that it ends with."""


@dataclass(slots=True)
class Result:
    """What became of a kill."""

    topology: str
    log: str
    victim: str
    point: str
    ok: bool
    seconds: float
    chance: bool = False
    master: str = ""
    why: str = ""

    @property
    def where(self) -> str:
        return self.log if not self.master else f"{self.log}, executors"

    @classmethod
    def load(cls, file: Path) -> list[Result]:
        return [cls(**each) for each in json.loads(file.read_text())["kills"]]


@dataclass(slots=True)
class Outcome:
    """A round that is over."""

    round: Round
    results: list[Result]
    records: int = 0
    rows: int = 0
    why: str = ""
    said: str = ""
    """All that the drivers have printed."""

    def save(self, folder: Path) -> None:
        """Keep it, for a table over several commands."""
        folder.mkdir(parents=True, exist_ok=True)
        counts = {"seed": self.round.seed, "records": self.records, "rows": self.rows}
        found = {**counts, "kills": [asdict(result) for result in self.results]}
        (folder / f"{self.round.name}-{self.round.share.replace('/', '-of-')}.json").write_text(
            json.dumps(found, indent=1) + "\n"
        )


def run(
    plan: Round, folder: Path, servers: str | None, told: Callable[[Result], None] = lambda result: None
) -> Outcome:
    """All kills of a round, with a look at all topics after each, and at the stores in the end. The first kill after
    which something is wrong ends it.
    """
    kind = KINDS[plan.kind]
    random = Random(f"{plan.seed} {plan.kind} {plan.log} {plan.master} {plan.share}")
    servers = servers if plan.log == "kafka" else None
    outcome = Outcome(plan, [])
    with subject(kind, folder, random, servers=servers, master=plan.master) as app:
        read = partial(read_topic, app.log) if servers is None else partial(read_committed, servers)
        if plan.kills[0].point != FIRST_COMMIT:
            app.start_first()
        for kill in plan.kills:
            began, why = time.monotonic(), ""
            try:
                strike(app, kill)
                app.settle()
                outcome.records = check_output(app, read, f"{plan}, after {kill}")
            except AssertionError as error:
                why = str(error)
            seconds = time.monotonic() - began
            victim, point, master = kill.victim, kill.point, plan.master or ""
            result = Result(plan.kind, plan.log, victim, point, not why, seconds, kill.chance, master, why)
            outcome.results.append(result)
            told(result)
            if why:
                outcome.why = why
                return outcome
        try:
            app.feed()
            app.settle()
            app.stop()
            outcome.records = check_output(app, read, f"{plan}, in the end")
            outcome.rows = check_stores(app, f"{plan}, in the end")
        except AssertionError as error:
            outcome.why = str(error)
            for result in outcome.results:
                result.ok = False
        outcome.said = app.processes.said()
    return outcome


def strike(app: Subject, kill: Kill) -> None:
    """One part of the input, and one kill while it is worked through."""
    if kill.point == FIRST_COMMIT:
        _strike_first_commit(app)
        return
    driver = app.driver
    if kill.point == ANY_TIME:
        app.feed()
        time.sleep(app.random.random() * 0.6)
        driver.kill(kill.victim, app.random)
    elif kill.point in (*IN_RECOVERY, CATCH_UP):
        _strike_recovery(app, kill)
        return
    elif kill.victim == "maintainer":
        _strike_maintainer(app, kill)
        return
    elif passes(kill.point) == kill.victim:
        if kill.point in IN_UPKEEP:
            # Seconds after its start a driver looks after the log, and then only once a minute.
            driver.process.kill()
            driver.end()
            app.start()
            driver = app.driver
        driver.arm(kill.point)
        app.feed()
        _wait_until_hit(app, kill.point)
    else:
        driver.arm(kill.point, HOLD)
        app.feed()
        _wait_until_hit(app, kill.point)
        near = driver.held(kill.point)
        if not driver.has(kill.victim):
            # Workers may be gone when the batch is with the driver: then the next one dies.
            driver.disarm()
            app.settle()
            app.feed()
        driver.kill(kill.victim, app.random, near)
        if kill.victim not in ENDS_THE_DRIVER:
            time.sleep(0.05)
        driver.disarm()
    if kill.victim in ENDS_THE_DRIVER:
        code = driver.wait()
        assert code == ENDS_THE_DRIVER[kill.victim], f"ended with {code}:\n{driver.said()}"
        if app.random.random() < 0.5:
            driver.end()
        # Else what is left of it works on for a while, beside the next driver; and who was held goes on only now.
        driver.disarm()
        app.start()


def _strike_first_commit(app: Subject) -> None:
    """The first driver of all dies in its first transaction."""
    app.start()
    app.driver.arm("publish.sent")
    app.driver.wait_until_hit("publish.sent")
    assert app.driver.wait() == -signal.SIGKILL
    app.driver.end()
    app.start_first()
    app.feed()


def _wait_until_hit(app: Subject, point: str) -> None:
    """Spark tells of its commits late, and upkeep comes when it is due: more batches may be needed."""
    if point.startswith(("spark.", "upkeep.")):
        file = app.driver.failpoints / point
        deadline = time.monotonic() + 90

        def hit() -> bool:
            return not file.exists()

        while not hit() and time.monotonic() < deadline:
            app.settle(or_else=hit)
            if not hit():
                app.feed()
    app.driver.wait_until_hit(point)


def _strike_recovery(app: Subject, kill: Kill) -> None:
    """A worker dies while it brings its stores to what the log says, for which there must be a reason first."""
    if kill.point.startswith("undo."):
        # The batch is done, and on disk; but it never counts.
        app.driver.arm("task.after")
        app.driver.arm(kill.point)
        app.feed()
        app.driver.wait_until_hit("task.after")
        app.driver.wait_until_hit(kill.point)
        return
    older = None
    if kill.point == CATCH_UP:
        older = app.copy_stores()
        for _ in range(2):
            app.feed()
            app.settle()
    app.lose_stores(older)
    app.driver.arm("restore.chunk")
    app.start()
    app.driver.wait_until_hit("restore.chunk")
    app.feed()


def _strike_maintainer(app: Subject, kill: Kill) -> None:
    """A process that compacts and tidies up dies, in the middle of a batch; there must be enough to do for it."""
    app.driver.arm(kill.point)
    for _ in range(30):
        app.feed()
        if maintain(app.log, app.driver.failpoints) == -signal.SIGKILL:
            return
        app.settle()
    raise AssertionError(f"`{kill.point}` was not passed")


def maintain(log: TopicLog, failpoints: Path) -> int:
    """Look after the log in a process of its own; its exit code."""
    assert isinstance(log, EmbeddedLog)
    code = "import sys; from headrace.log.embedded import EmbeddedLog; EmbeddedLog(sys.argv[1]).maintain()"
    environment = process_environment() | {"HEADRACE_FAILPOINTS": str(failpoints)}
    command = [sys.executable, "-c", code, str(log.directory)]
    return subprocess.run(command, env=environment, check=False, timeout=60).returncode
