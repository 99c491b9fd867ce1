"""Tying each slot of tasks to a host, so that its tasks find their stores there in every batch.

Spark says nothing about where the tasks behind a shuffle run, and lets them run where a core is free first. So the rows
of each stage are joined with a table that has one row per slot, is partitioned like them, and whose partitions prefer a
host: a partition of the join then prefers it, too. Nothing more moves through the network for it. The preference is
asked for anew in every batch, so it can be changed while the query runs.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from headrace.spark.commit import Report, TaskCommit
from headrace.spark.executors import executors_by_host
from headrace.spark.rows import salts

logger = logging.getLogger("headrace")

LOOK_EVERY = 10.0
"""Seconds after which it is looked anew which hosts there are; sooner when a task did not run at home."""
GRACE = 60.0
"""Seconds that the slots of a host that is gone wait for it, and run elsewhere; then they get another home."""
_seen: dict[str, dict[str, tuple[int, float]]] = {}
"""Spark's application -> host -> how many executors it had when it was seen last, and when that was. A query that is
started again because an executor was lost knows its host still.
"""


class Anchors:
    """The home of each slot: the host where its tasks have their stores."""

    def __init__(
        self,
        spark: SparkSession,
        slots: int,
        tasks: Mapping[str, TaskCommit],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spark = spark
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._clock = clock
        self._seen = _seen.setdefault(spark.sparkContext.applicationId or "", {})
        self._looked = 0.0
        self._homes: list[str | None] = last_hosts(slots, tasks)
        self._went = list(self._homes)
        self._preferred = jvm.scala.collection.mutable.HashMap()
        self._table = self._make_table(slots).hint("shuffle_hash")
        self._look()

    def tie(self, frame: DataFrame) -> DataFrame:
        """Rows that are partitioned by slot, each partition with its home."""
        return frame.join(self._table, "slot")

    def follow(self, reports: Iterable[Report]) -> None:
        """After a batch: see where its tasks ran, and now and then which hosts there are."""
        for report in reports:
            _, _, number = report.task.partition("_")
            if number and report.host:  # tasks without stores, which run while reading, may be anywhere
                self._went[int(number) % len(self._went)] = report.host
        if self._went != self._homes or self._clock() - self._looked >= LOOK_EVERY:
            self._look()

    def _look(self) -> None:
        now = self._looked = self._clock()
        alive = executors_by_host(self._spark)
        self._seen.update({host: (count, now) for host, count in alive.items()})
        hosts = {host: count for host, (count, at) in self._seen.items() if now - at < GRACE}
        self._homes = list(place_slots(len(self._homes), hosts, self._homes))
        for slot, (home, went) in enumerate(zip(self._homes, self._went, strict=True)):
            # While its home is gone, a slot stays where it went.
            place = home if home in alive else went
            self._preferred.put(slot, self._seq([] if place is None else [place]))

    def _make_table(self, slots: int) -> DataFrame:
        """A table of one column whose partitioning Spark takes our word for: salt i is where its hash puts it."""
        jvm, spark = self._jvm, self._spark
        gateway: Any = spark.sparkContext._gateway
        rows = []
        for salt in salts(slots):
            values = gateway.new_array(jvm.java.lang.Object, 1)
            values[0] = salt
            rows.append(jvm.org.apache.spark.sql.catalyst.expressions.GenericInternalRow(values))
        kind = jvm.java.lang.Class.forName("org.apache.spark.sql.catalyst.InternalRow")
        tag = getattr(getattr(jvm.scala.reflect, "ClassTag$"), "MODULE$").apply(kind)
        rdd = jvm.org.apache.spark.rdd.ParallelCollectionRDD(
            spark.sparkContext._jsc.sc(), self._seq(rows), slots, self._preferred, tag
        )
        column = (
            spark.range(0).selectExpr("cast(id as int) as slot")._jdf.queryExecution().analyzed().output()
        )
        none = getattr(getattr(jvm.scala, "None$"), "MODULE$")
        plan = jvm.org.apache.spark.sql.execution.LogicalRDD(
            column,
            rdd,
            jvm.org.apache.spark.sql.catalyst.plans.physical.HashPartitioning(column, slots),
            self._seq([]),
            False,
            none,
            spark._jsparkSession,
            none,
            none,
            False,
        )
        return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan), spark)

    def _seq(self, items: Sequence[Any]) -> Any:
        made = self._jvm.java.util.ArrayList()
        for item in items:
            made.add(item)
        return self._jvm.PythonUtils.toSeq(made)


def anchors_for(spark: SparkSession, slots: int, tasks: Mapping[str, TaskCommit]) -> Anchors | None:
    """Homes for the slots of an application on several hosts. None where this Spark is not the one that is known:
    the table is made of parts that no version has to keep, and everything works without it, with more catching up.
    """
    try:
        return Anchors(spark, slots, tasks)
    except (
        Py4JError,
        TypeError,
        AttributeError,
    ) as error:  # another signature, no such class, no such method
        logger.warning(
            "tasks cannot be tied to the hosts of their stores on this Spark, and may move: %s", error
        )
        return None


def last_hosts(slots: int, tasks: Mapping[str, TaskCommit]) -> list[str | None]:
    """For each slot the host on which most of its tasks have their stores, as the last commit says."""
    found: list[Counter[str]] = [Counter() for _ in range(slots)]
    for task, commit in tasks.items():
        if commit.host:
            found[int(task.partition("_")[2]) % slots][commit.host] += 1
    return [counter.most_common(1)[0][0] if counter else None for counter in found]


def place_slots(
    slots: int, executors: Mapping[str, int], wanted: Sequence[str | None]
) -> Sequence[str | None]:
    """A host for each slot: as wanted, as far as every executor gets its share.

    >>> place_slots(4, {"a": 1, "b": 1}, ["b", None, None, "gone"])
    ['b', 'a', 'a', 'b']
    >>> place_slots(3, {"a": 1, "b": 1}, ["a", "a", "a"])
    ['a', 'a', 'b']
    """
    if not executors:
        return wanted
    total = sum(executors.values())
    room = {host: -(-slots * count // total) for host, count in sorted(executors.items())}
    placed: list[str | None] = [None] * slots
    for slot, host in enumerate(wanted):
        if host is not None and room.get(host, 0) > 0:
            placed[slot] = host
            room[host] -= 1
    for slot in range(slots):
        if placed[slot] is None:
            # The host that has the most room for what it can do.
            host = max(room, key=lambda name: (room[name] / executors[name], executors[name]))
            placed[slot] = host
            room[host] -= 1
    return placed
