"""What other processes do to an embedded log in the tests: they write, read and keep it tidy, until they are killed.

Every append is a batch over several topics. Each of its records says who wrote it, the batch's number, its own number
in the batch and how many there are; one record of the compacted topic says the writer's newest batch.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections.abc import Iterator, Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

from headrace.errors import OffsetOutOfRangeError
from headrace.log import Outgoing, TopicPartition
from headrace.log.embedded import EmbeddedLog

TOPICS = {"a": 3, "b": 1, "c": 2}
NEWEST = "newest"
COMPACT = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"}
PLACES = [TopicPartition(topic, number) for topic, count in TOPICS.items() for number in range(count)]

# Children of a small server that has imported everything: they begin within milliseconds.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["headrace.log.embedded", "log_processes"])


class Entry(NamedTuple):
    """One record as it was read."""

    place: TopicPartition
    offset: int
    writer: str
    batch: int
    index: int
    total: int


def begin(work: Any, *args: object) -> BaseProcess:
    """Another process that does `work`."""
    process = _context.Process(target=work, args=args, daemon=True)
    process.start()
    return process


def write(directory: Path, writer: str, batches: int, seed: int, pause: float = 0) -> None:
    """Append batches; each is noted in the file `<writer>.done` once the log has said that it is there."""
    chance = random.Random(seed)
    log = EmbeddedLog(directory)
    done = os.open(directory.parent / f"{writer}.done", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(batches):
        places = [chance.choice(PLACES) for _ in range(chance.choice([1, 5, 40, 400]))]
        texts = [b"%s %d %d %d" % (writer.encode(), number, at, len(places)) for at in range(len(places))]
        sent = []
        for topic in TOPICS:
            mine = [(text, place) for text, place in zip(texts, places, strict=True) if place.topic == topic]
            values = [text for text, _ in mine]
            wanted = [place.partition for _, place in mine]
            sent.append(Outgoing(topic, values, values, [number] * len(mine), partitions=wanted))
        sent.append(Outgoing(NEWEST, [writer.encode()], [b"%d" % number], [number]))
        log.append(sent)
        os.write(done, b"%d\n" % number)
        time.sleep(pause)


def keep(directory: Path) -> None:
    """Upkeep with hardly a pause."""
    log = EmbeddedLog(directory)
    while True:
        log.maintain()
        time.sleep(0.002)


def follow(directory: Path) -> None:
    """Read the whole log again and again, and leave a note in `wrong` if ever something is not as it must be."""
    log = EmbeddedLog(directory)
    while True:
        try:
            check(log)
        except AssertionError as error:
            (directory.parent / "wrong").write_text(str(error))
            raise


def check(log: EmbeddedLog) -> Mapping[str, int]:
    """All that was appended before one moment is there, dense, in order and whole; how many batches of each writer."""
    newest = TopicPartition(NEWEST, 0)
    ends = log.latest([*PLACES, newest])
    seen: dict[tuple[str, int], list[int]] = {}
    totals: dict[tuple[str, int], int] = {}
    for place in PLACES:
        entries = list(_read(log, place, ends[place]))
        assert [entry.offset for entry in entries] == list(range(ends[place])), f"{place} is not dense"
        order = [(entry.batch, entry.index) for entry in entries]
        for writer in {entry.writer for entry in entries}:
            mine = [at for at, entry in zip(order, entries, strict=True) if entry.writer == writer]
            assert mine == sorted(mine), f"{writer} is out of order in {place}"
        for entry in entries:
            seen.setdefault((entry.writer, entry.batch), []).append(entry.index)
            totals[entry.writer, entry.batch] = entry.total
    for batch, indexes in seen.items():
        assert sorted(indexes) == list(range(totals[batch])), f"batch {batch} is torn"
    counts: dict[str, int] = {}
    for writer, _ in seen:
        counts[writer] = counts.get(writer, 0) + 1
    for writer, count in counts.items():
        assert {batch for name, batch in seen if name == writer} == set(range(count)), (
            f"{writer} lost a batch"
        )
    latest = {
        key.decode(): int(value)
        for chunk in log.read({newest: (0, ends[newest])})
        for key, value in zip(chunk.keys, chunk.values, strict=True)
        if key is not None and value is not None
    }
    # A newer one may have come, and the older been compacted away, since the ends were taken.
    for writer, count in counts.items():
        assert latest.get(writer, count - 1) == count - 1, f"the newest of {writer} is not the newest"
    return counts


def _read(log: EmbeddedLog, place: TopicPartition, end: int) -> Iterator[Entry]:
    try:
        for chunk in log.read({place: (0, end)}):
            for offset, value in zip(chunk.offsets, chunk.values, strict=True):
                assert value is not None
                writer, batch, index, total = value.split()
                yield Entry(place, offset, writer.decode(), int(batch), int(index), int(total))
    except OffsetOutOfRangeError as error:
        raise AssertionError(str(error)) from error
