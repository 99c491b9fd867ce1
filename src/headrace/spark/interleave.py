"""What several tasks wrote to one topic in a batch, put in the order of a task that reads it.

Tasks of Kafka Streams write side by side, so a reader sees their records about in the order of time. Here each task
hands over a whole batch: one behind the other, the first one's records would make the next one's late for a reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.log.arrow import SCHEMA_WITH_HEADERS


def interleave(writers: Sequence[Sequence[pa.RecordBatch]]) -> list[pa.RecordBatch]:
    """The batches of several writers as one, merged by the highest timestamp so far of each (the order of a task)."""
    batches = [batch for written in writers for batch in written]
    if len(writers) < 2 or len({"partition" in batch.schema.names for batch in batches}) > 1:
        return batches
    heads = np.concatenate([_heads(written) for written in writers])
    order = np.argsort(heads, kind="stable")
    if (order[1:] > order[:-1]).all():
        return batches
    whole = pa.concat_batches(_alike(batches))
    return [whole.take(pa.array(order))]


def _heads(batches: Sequence[pa.RecordBatch]) -> Any:
    times = np.concatenate([batch.column("timestamp").to_numpy() for batch in batches])
    return np.maximum.accumulate(times)


def _alike(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """With headers in all of them, if there are any in one."""
    names = max((batch.schema.names for batch in batches), key=len)
    kind = SCHEMA_WITH_HEADERS.field("headers").type
    return [
        (
            batch
            if "headers" in batch.schema.names or "headers" not in names
            else batch.append_column("headers", pa.nulls(batch.num_rows, kind))
        ).select(names)
        for batch in batches
    ]
