"""An application that runs for long on new keys all the time: stores, changelogs and their files stop growing."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

from headrace import Materialized, SessionWindows, StreamsBuilder, TimeWindows
from headrace.log.base import TopicPartition
from headrace.log.embedded import maintenance
from tests.spark.harness.sparkless import Sparkless

Sizes: TypeAlias = tuple[int, int, int, int]
PHASE = 120
HOUR = 3_600_000
STEP = 10 * 60_000
START = time.time_ns() // 1_000_000
"""Time goes on from now: the thread that keeps the log goes by the clock."""


def test_moving_windows_and_rows_that_run_out_keep_stores_and_log_bounded(tmp_path: Path) -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=str, value=str)
    grouped = stream.group_by_key()
    hour = timedelta(hours=1)
    grouped.windowed_by(TimeWindows(timedelta(minutes=10))).count(
        store=Materialized("windows", retention=hour)
    )
    grouped.windowed_by(SessionWindows(timedelta(minutes=5))).count(
        store=Materialized("sessions", retention=hour)
    )
    # Tombstones stay for a while, too: a day, unless one says otherwise.
    rows = Materialized("rows", ttl=hour, log_config={"delete.retention.ms": str(HOUR)})
    grouped.reduce(lambda old, new: new, store=rows)
    app = Sparkless(
        builder.build(),
        tmp_path,
        partitions=1,
        together=True,
        windowstore_changelog_additional_retention=timedelta(0),
    )
    app.log.alter_topic("in", {"retention.ms": str(HOUR)})
    with app:
        sizes: list[Sizes] = []
        for number in range(3 * PHASE):
            now = START + number * STEP
            app.fed("in", [(b"key-%d-%d" % (number, n), b"v" * 50, now + n) for n in range(100)])
            if number % 6 == 5:  # as the thread beside an application does, while batches go on
                while maintenance.run(app.log._environment, now).busy:
                    time.sleep(0.01)  # that thread is just at it, by the real clock
            sizes.append(measure(app, tmp_path))
        middle, end = _highest(sizes[PHASE : 2 * PHASE]), _highest(sizes[2 * PHASE :])
        for what, before, after in zip(("entries", "records", "store", "log"), middle, end, strict=True):
            assert after <= 1.25 * before, f"{what}: {before:,}, and after as many batches again {after:,}"
        assert end[0] < 100 * 40, "entries of all stores: not of more than a few hours"
        assert {report.recovery for batch in app.batches[1:] for report in batch.reports} == {"same"}


def _highest(sizes: list[Sizes]) -> tuple[int, ...]:
    return tuple(max(column) for column in zip(*sizes, strict=True))


def measure(app: Sparkless, folder: Path) -> Sizes:
    """Entries of the stores, records of the changelogs, and the sizes of both files."""
    (hosted,) = app.runtime._hosted.values()
    stores = ("windows", "sessions", "rows")
    entries = sum(hosted.local.backend(store).count() for store in stores)
    records = 0
    for store in stores:
        place = TopicPartition(f"app-{store}-changelog", 0)
        first, end = app.log.earliest([place])[place], app.log.latest([place])[place]
        records += sum(len(chunk) for chunk in app.log.read({place: (first, end)}))
    store_file = app.config.state_path / str(hosted.id) / "data.mdb"
    log_file = max((folder / "log").rglob("data.mdb"), key=lambda file: file.stat().st_size)
    return entries, records, store_file.stat().st_size, log_file.stat().st_size
