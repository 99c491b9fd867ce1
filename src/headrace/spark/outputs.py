"""What a task wrote becomes rows: repartitioned records for the next stage, the rest for the driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from headrace.log.base import Chunk
from headrace.partitioning import partition_for, partitions_for
from headrace.record import TaskId
from headrace.spark.layout import Layout
from headrace.spark.rows import DRIVER, Row, pack_in_parts, records, with_places
from headrace.task import OutputColumns

RUN = 1 << 16
"""Partition numbers below this; a shuffled run of records is known by its writer, sub-topology * RUN + partition."""


def output_rows(
    taken: Sequence[OutputColumns],
    layout: Layout,
    salts: Sequence[int],
    writer: TaskId,
    counters: dict[str, int],
    *,
    together: bool = False,
    parcels: str | None = None,
) -> Iterator[Row]:
    """Rows for everything in `taken`. `counters` numbers the records that this writer shuffled to each topic,
    so that the reader can put the rows back into order. What stays `together` in this process is not packed; what is
    large goes into the folder `parcels`.
    """
    here = salts[writer.partition % len(salts)]
    for columns in taken:
        if together and columns.repartition and columns.topic not in layout.looped:
            yield from _handed_on(columns, layout, salts, writer, counters)
            continue
        batch = records(columns.keys, columns.values, columns.timestamps, columns.headers)
        if columns.repartition and columns.topic not in layout.looped:
            yield from _shuffled(columns, batch, layout, salts, writer, counters, parcels)
        else:
            topic = layout.internal_name(columns.topic) if columns.repartition else columns.topic
            placed = with_places(batch, None, columns.partitions)
            for payload in pack_in_parts(placed, parcels):
                yield Row(here, DRIVER, "output", writer.subtopology, writer.partition, topic, 0, payload)


def _shuffled(
    columns: OutputColumns,
    batch: pa.RecordBatch,
    layout: Layout,
    salts: Sequence[int],
    writer: TaskId,
    counters: dict[str, int],
    parcels: str | None,
) -> Iterator[Row]:
    count = layout.repartitions[columns.topic]
    first = counters.get(columns.topic, 0)
    counters[columns.topic] = first + batch.num_rows
    batch = with_places(batch, range(first, first + batch.num_rows))
    targets = np.asarray(partitions_for(columns.keys, count))
    if columns.partitions is not None:
        chosen = [-1 if p is None else p for p in columns.partitions]
        targets = np.where(np.asarray(chosen) >= 0, chosen, targets)
    run = writer.subtopology * RUN + writer.partition
    for placement in layout.repartition_readers[columns.topic]:
        for task in range(count):
            chosen_rows = np.nonzero(targets == task)[0]
            if len(chosen_rows):
                part = batch.take(pa.array(chosen_rows)) if count > 1 else batch
                for payload in pack_in_parts(part, parcels):
                    yield Row(
                        salts[task % len(salts)],
                        placement.stage,
                        "records",
                        placement.sub.id,
                        task,
                        columns.topic,
                        run,
                        payload,
                    )


def _handed_on(
    columns: OutputColumns, layout: Layout, salts: Sequence[int], writer: TaskId, counters: dict[str, int]
) -> Iterator[Row]:
    """The same as `_shuffled` for few records that stay in this process: without Arrow, whose fixed costs are ten times
    theirs.
    """
    count = layout.repartitions[columns.topic]
    first = counters.get(columns.topic, 0)
    counters[columns.topic] = first + len(columns)
    groups: dict[int, list[int]] = {}
    turn = 0
    for row, key in enumerate(columns.keys):
        if key is None:
            target, turn = turn % count, turn + 1
        else:
            target = partition_for(key, count)
        if columns.partitions is not None and columns.partitions[row] is not None:
            target = columns.partitions[row]
        groups.setdefault(target, []).append(row)
    run = writer.subtopology * RUN + writer.partition
    for task, rows in sorted(groups.items()):
        chunk = Chunk(
            columns.topic,
            run,
            [first + row for row in rows],
            [columns.timestamps[row] for row in rows],
            [columns.keys[row] for row in rows],
            [columns.values[row] for row in rows],
            None if columns.headers is None else [columns.headers[row] for row in rows],
        )
        for placement in layout.repartition_readers[columns.topic]:
            salt, sub = salts[task % len(salts)], placement.sub.id
            yield Row(salt, placement.stage, "records", sub, task, columns.topic, run, b"", chunk)
