"""What a task wrote becomes rows: repartitioned records for the next stage, the rest for the driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from headrace.partitioning import partitions_for
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
) -> Iterator[Row]:
    """Rows for everything in `taken`. `counters` numbers the records that this writer shuffled to each topic,
    so that the reader can put the rows back into order.
    """
    here = salts[writer.partition % len(salts)]
    for columns in taken:
        batch = records(columns.keys, columns.values, columns.timestamps, columns.headers)
        if columns.repartition and columns.topic not in layout.looped:
            yield from _shuffled(columns, batch, layout, salts, writer, counters)
        else:
            topic = layout.internal_name(columns.topic) if columns.repartition else columns.topic
            placed = with_places(batch, None, columns.partitions)
            for payload in pack_in_parts(placed):
                yield Row(here, DRIVER, "output", writer.subtopology, writer.partition, topic, 0, payload)


def _shuffled(
    columns: OutputColumns,
    batch: pa.RecordBatch,
    layout: Layout,
    salts: Sequence[int],
    writer: TaskId,
    counters: dict[str, int],
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
                for payload in pack_in_parts(part):
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
