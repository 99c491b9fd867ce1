"""The kinds of topologies that are killed: what each reads, writes and keeps, and input for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from types import ModuleType

from headrace.topology.topology import Topology
from tests.chaos.apps import aggregating, joining, multi_stage, stateless, windowed
from tests.spark.harness import Part, Rec, encoded

PARTITIONS = 4
KEYS = 12
STEP = 3
"""Milliseconds of event time between two records, at most."""
SIZES = (30, 80)
"""Records of a part: a batch that is small by the settings of the applications, and one that is not."""
LATE = 120
"""Milliseconds that a late record is late, at most."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One application, and how it is compared with the test driver: record by record, unless it is said otherwise."""

    app: ModuleType
    streams: tuple[str, ...] = ()
    """Topics whose records are events, some of them late."""
    tables: tuple[str, ...] = ()
    """Topics whose records are rows, some of them deletions."""
    outputs: tuple[str, ...] = ()
    last_only: frozenset[str] = frozenset()
    """Outputs of which only the last value of each key is compared: what there is on the way depends on the order in
    which answers come back (ADR 0021).
    """
    stores: Mapping[str, str] = field(default_factory=dict)
    """Store -> its kind, by the names of the recorded cases."""

    @property
    def name(self) -> str:
        return self.app.__name__.rpartition(".")[2]

    @property
    def topology(self) -> Topology:
        found: Topology = self.app.topology
        return found

    @property
    def topics(self) -> dict[str, int]:
        return dict.fromkeys((*self.streams, *self.tables, *self.outputs), PARTITIONS)


STATELESS = Kind(stateless, streams=("in",), outputs=("loud", "mirrored", "merged"))
AGGREGATING = Kind(
    aggregating,
    streams=("in",),
    outputs=("counts", "totals", "letters", "census"),
    stores={
        "counts": "timestamped_kv",
        "totals": "timestamped_kv",
        "newest": "timestamped_kv",
        "letters": "timestamped_kv",
        "keys": "kv",
    },
)
WINDOWED = Kind(
    windowed,
    streams=("in",),
    outputs=("tumbling", "suppressed", "sessions", "closing", "highest"),
    stores={
        "tumbling": "timestamped_window",
        "sessions": "session",
        "closing": "timestamped_window",
        "highest": "timestamped_window",
    },
)
JOINING = Kind(
    joining,
    streams=("left", "right"),
    tables=("rows", "others", "more"),
    outputs=("pairs", "outer", "looked-up", "side-by-side", "by-foreign-key"),
    last_only=frozenset({"by-foreign-key"}),
    stores=dict.fromkeys(("rows", "others", "side-by-side", "by-foreign-key"), "timestamped_kv"),
)
MULTI_STAGE = Kind(
    multi_stage,
    streams=("in",),
    tables=("rows",),
    outputs=("highest", "met", "middle", "endings"),
    stores=dict.fromkeys(("rows", "letters", "highest", "endings"), "timestamped_kv"),
)
KINDS = {kind.name: kind for kind in (STATELESS, AGGREGATING, WINDOWED, JOINING, MULTI_STAGE)}


def part(kind: Kind, random: Random, time: int, size: int | None = None) -> tuple[Part, int]:
    """Records for all of its topics, beginning at a time of the topics' own; and the time that is reached."""
    size = random.choice(SIZES) if size is None else size
    topics = (*kind.streams, *kind.streams, *kind.tables)
    found: dict[str, list[Rec]] = {}
    for _ in range(size):
        time += random.randint(1, STEP)
        topic = random.choice(topics)
        key, value = f"k{random.randrange(KEYS)}", f"{random.choice('abcd')}{random.randrange(1000)}"
        if topic in kind.tables:
            record = encoded(key, None if random.random() < 0.15 else value, time)
        else:
            record = encoded(key, value, time - (random.randint(1, LATE) if random.random() < 0.2 else 0))
        found.setdefault(topic, []).append(record)
    return found, time
