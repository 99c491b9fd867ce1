"""Which process is killed when: every named point, and others by chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from headrace.failpoints import IN_DRIVER, IN_KAFKA, IN_PLANNER, IN_RECOVERY, IN_UPKEEP, IN_WORKER
from tests.chaos.kinds import AGGREGATING, KINDS, Kind

Victim = Literal["driver", "worker", "planner", "jvm", "executor", "maintainer"]
LogName = Literal["embedded", "kafka"]

LOGS: tuple[LogName, ...] = ("embedded", "kafka")
CHANCE: dict[LogName, int] = {"embedded": 16, "kafka": 6}
"""Kills by chance in a round."""
VICTIMS: tuple[Victim, ...] = ("worker", "worker", "worker", "planner", "planner", "driver", "driver", "jvm")
"""Those that end the driver are rarer, since a start takes longer than ten batches."""
CLUSTER = "local-cluster[2,1,1024]"
"""Executors in processes of their own."""
ANY_TIME = "any time"
"""At no point in particular."""
FIRST_COMMIT = "first commit"
"""The point `publish.sent` in the very first batch: nothing was ever committed, but offsets may be used up."""
CATCH_UP = "catch_up.chunk"
"""The point `restore.chunk`, over stores that are a few commits behind, as where a task comes back to a host."""
WITHOUT_STORES = ("read.before", "read.after")
"""The points that workers pass where there are no tasks with stores."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill. Where it is not the victim that passes the point, the one that does is held there meanwhile."""

    victim: Victim
    point: str
    chance: bool = False
    """Whether it is one of those chosen by chance."""

    def __str__(self) -> str:
        return f"{self.victim} at {self.point}"


def passes(point: str) -> Victim:
    """Who passes a point."""
    if point in IN_PLANNER:
        return "planner"
    return "driver" if point in (*IN_DRIVER, *IN_KAFKA, *IN_UPKEEP) else "worker"


def named(kind: Kind, log: LogName) -> list[Kill]:
    """Every point that this application passes, with the process that passes it as victim."""
    points = [*IN_PLANNER, *IN_DRIVER, *(IN_KAFKA if log == "kafka" else ())]
    points += [*IN_WORKER, *IN_RECOVERY, CATCH_UP] if kind.stores else WITHOUT_STORES
    kills = [Kill(passes(point), point) for point in points]
    if kind.stores and log == "embedded":
        kills += [Kill("maintainer", point) for point in IN_UPKEEP]
    if kind is AGGREGATING and log == "embedded":
        kills.append(
            Kill("driver", IN_UPKEEP[0])
        )  # it looks after the log itself; once will do, since it needs two starts
    return kills


def by_chance(kind: Kind, log: LogName, random: Random, victims: tuple[Victim, ...]) -> Iterator[Kill]:
    """For ever: any victim, at any point or none."""
    while True:
        victim = random.choice(victims)
        if random.random() < 0.4:
            yield Kill(victim, ANY_TIME, chance=True)
            continue
        rare = (*IN_UPKEEP, *IN_RECOVERY, CATCH_UP)
        points = [kill.point for kill in named(kind, log) if kill.point not in rare]
        yield Kill(victim, random.choice(points), chance=True)


@dataclass(frozen=True, slots=True)
class Round:
    """Some kills of one application on one log, over the same topics and stores."""

    kind: str
    log: LogName
    kills: tuple[Kill, ...]
    seed: int
    master: str | None = None
    share: str = "1/1"

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.log}" + ("" if self.master is None else "-cluster")

    def __str__(self) -> str:
        return f"{self.kind} on {self.log}" + ("" if self.master is None else f" and {self.master}")


def all_rounds(seed: int, chance: int | None = None) -> list[Round]:
    """Every point of every application on the embedded log, every point of one of them on Kafka, and some kills by
    chance for each application and log.
    """
    dealt = _dealt_out()
    rounds = []
    for log in LOGS:
        for kind in KINDS.values():
            random = Random(f"{seed} {kind.name} {log}")
            points = named(kind, log) if log == "embedded" else dealt[kind.name]
            random.shuffle(points)
            chosen = by_chance(kind, log, random, VICTIMS)
            count = CHANCE[log] if chance is None else chance
            kills = (*points, *(next(chosen) for _ in range(count)))
            if kind is AGGREGATING:
                kills = (Kill("driver", FIRST_COMMIT), *kills)
            rounds.append(Round(kind.name, log, kills, seed))
    return [*rounds, *_with_executors(seed)]


def _with_executors(seed: int) -> list[Round]:
    """An executor dies at every point that its workers pass, dealt out over all applications and both logs."""
    rounds = []
    for number, kind in enumerate(KINDS.values()):
        log = LOGS[number % len(LOGS)]
        points = [point for point in (*IN_WORKER, "publish.sent") if kind.stores or point in WITHOUT_STORES]
        kills = [
            Kill("executor", point)
            for at, point in enumerate(points)
            if at % 2 == number % 2 or len(points) < 4
        ]
        chance = [Kill("executor", ANY_TIME, chance=True)] * 2
        rounds.append(Round(kind.name, log, (*kills, *chance), seed, CLUSTER))
    return rounds


def share_of(plan: Round, share: str) -> Round:
    """Such as 2/3: the second third of its kills."""
    number, count = map(int, share.split("/"))
    first, last = (len(plan.kills) * edge // count for edge in (number - 1, number))
    return replace(plan, kills=plan.kills[first:last], share=share)


def _dealt_out() -> dict[str, list[Kill]]:
    """The points on Kafka, each for one application that passes it."""
    dealt: dict[str, list[Kill]] = {name: [] for name in KINDS}
    points = {kill for kind in KINDS.values() for kill in named(kind, "kafka")}
    for kill in sorted(points, key=str):
        able = [name for name, kind in KINDS.items() if kill in named(kind, "kafka")]
        dealt[min(able, key=lambda name: len(dealt[name]))].append(kill)
    return dealt
