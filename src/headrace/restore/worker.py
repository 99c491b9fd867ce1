"""A process that rebuilds tasks, one after the other, as `drill` asks for them: `python -m headrace.restore.worker`.

It is started anew rather than forked: neither LMDB nor Kafka's clients survive a fork. What it is told comes as lines
on its standard input, and what it has to say goes as lines to its standard output.
"""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import BinaryIO

import msgspec

from headrace.errors import HeadraceError
from headrace.restore.rebuild import RebuiltTask, rebuild
from headrace.restore.recorded import Recorded
from headrace.spark.commit import CommitRecord, decode, encode
from headrace.spark.failure import pack_failure
from headrace.spark.layout import lay_out
from headrace.spark.restores import PATIENCE, RestoreEvent
from headrace.spark.ship import resolve, unpack


class Job(msgspec.Struct, frozen=True):
    """The first line: the application, its newest commit, and where to rebuild its stores."""

    shipment: str
    base: CommitRecord
    folder: str


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the worker's: how far it is, that a task is done, or why not."""

    event: RestoreEvent | None = None
    done: RebuiltTask | None = None
    failure: str | None = None


def recorded_of(job: Job) -> Recorded:
    """The application, in this process."""
    shipment = unpack(job.shipment)
    config = shipment.config
    layout = lay_out(
        resolve(shipment.topology),
        config.application_id,
        shipment.topics,
        config.default_timestamp_extractor,
        job.base.task_count,
    )
    return Recorded(config, layout, job.base)


def serve(lines: BinaryIO, out: BinaryIO) -> None:
    """Rebuild the tasks whose numbers come, until no more do."""
    job = decode(lines.readline(), Job)
    try:
        recorded = recorded_of(job)
        tasks = recorded.tasks()
        for line in lines:
            done = rebuild(recorded, tasks[int(line)], Path(job.folder), partial(_tell, out, [0.0]))
            _say(out, Said(done=done))
    except HeadraceError as error:
        _say(out, Said(failure=pack_failure(error).decode()))


def _tell(out: BinaryIO, last: list[float], event: RestoreEvent) -> None:
    now = time.monotonic()
    if event.kind == "end" or now - last[0] >= PATIENCE:
        last[0] = now
        _say(out, Said(event=event))


def _say(out: BinaryIO, said: Said) -> None:
    out.write(encode(said) + b"\n")
    out.flush()


if __name__ == "__main__":
    # What the user's file prints must not get between the lines.
    private = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, private)
