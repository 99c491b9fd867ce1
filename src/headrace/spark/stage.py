"""A stage of the query: the tasks of one depth, run inside `mapInArrow`. One Spark partition is one slot of tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from headrace.errors import LogError
from headrace.record import TaskId
from headrace.spark.commit import Plan, decode
from headrace.spark.failure import REPORTED, failure_row
from headrace.spark.prints import printed
from headrace.spark.rows import Row, from_batch, to_batch
from headrace.spark.runtime import Runtime, runtime_of


def stage(application: str, number: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark calls for each slot of a stage."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        mine: list[Row] = []
        for batch in batches:
            passing: list[Row] = []
            for row in from_batch(batch):
                (mine if row.stage == number else passing).append(row)
            if passing:
                yield to_batch(passing)
        if not mine:
            return
        try:
            runtime = runtime_of(application)
            for rows in run_slot(runtime, number, mine):
                yield to_batch(rows)
        except REPORTED as error:
            yield to_batch([*printed(mine[0].slot), failure_row(error, mine[0].slot)])

    return run


def run_slot(runtime: Runtime, number: int, rows: list[Row]) -> Iterator[list[Row]]:
    """Run every task of this slot."""
    control = next((row for row in rows if row.kind == "control"), None)
    if control is None:
        raise LogError(f"a slot of stage {number} got records without the plan of the batch")
    plan, slot = decode(control.payload, Plan), control.task
    if number < runtime.layout.stages:
        yield [control._replace(stage=number + 1)]
    runtime.parcels = plan.parcels
    runtime.begin(plan)
    inputs: dict[TaskId, list[Row]] = {}
    for row in rows:
        if row.kind == "records":
            inputs.setdefault(TaskId(row.sub, row.task), []).append(row)
    for task_id in runtime.tasks_of(number, slot):
        yield runtime.hosted(task_id).run(plan, inputs.get(task_id, []))
