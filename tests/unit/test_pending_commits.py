"""A batch that is built on a commit which is still being published: it waits before it writes, and never writes if the
commit fails.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from headrace import StreamsBuilder
from headrace.errors import LogError
from headrace.spark.commit import CommitRecord, Plan, decode
from headrace.spark.progress import Progress, ProgressFile
from headrace.spark.publish import Collected
from headrace.spark.stopwatch import Stopwatch
from tests.spark.harness.sparkless import Sparkless


def words(count: int, time: int) -> list[tuple[bytes, bytes, int]]:
    return [(b"k%d" % (n % 5), b"x", time + n) for n in range(count)]


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Sparkless]:
    builder = StreamsBuilder()
    builder.stream("words", value=str).group_by_key().count(store="counts").to_stream().to("out")
    with Sparkless(builder.build(), tmp_path, partitions=2, together=True) as made:
        made.fed("words", words(10, 0))
        yield made


@pytest.fixture
def file(app: Sparkless, tmp_path: Path) -> ProgressFile:
    return ProgressFile(tmp_path / "progress.json")


def ahead(app: Sparkless, file: ProgressFile) -> tuple[Collected, Plan]:
    """The second batch, ready to be published, and the plan of the third, which is built on it."""
    app.append("words", words(10, 100))
    collected = app.committer.take(app.table(app.next_plan()))
    coming = app.committer.coming(collected)
    assert coming is not None
    assert coming.number == app.committer.base.number + 1
    file.write(Progress(app.committer.base, ahead=coming))
    app.append("words", words(10, 200))
    return collected, msgspec.structs.replace(app.next_plan(coming), pending=str(file.path))


def commits_on_disk(app: Sparkless) -> set[int]:
    tasks = [
        task
        for placement in app.runtime.layout.placements
        for task in placement.task_ids()
        if placement.stage > 0
    ]
    stamps = [app.runtime.hosted(task).local.stamp for task in tasks]
    return {stamp.commit for stamp in stamps if stamp is not None}


def test_a_task_waits_with_its_stores_for_the_commit_under_it(app: Sparkless, file: ProgressFile) -> None:
    collected, plan = ahead(app, file)
    tables: list[pa.Table] = []
    running = threading.Thread(target=lambda: tables.append(app.table(plan)))
    running.start()
    running.join(0.3)
    assert running.is_alive()
    assert commits_on_disk(app) == {collected.plan.number}  # type: ignore[union-attr]
    second = app.committer.finish(collected, Stopwatch())
    file.write(Progress(app.committer.base))
    running.join(30)
    third = app.committer.publish(tables[0], Stopwatch())
    assert third.commit.number == second.commit.number + 1
    assert commits_on_disk(app) == {third.commit.number}
    assert {report.recovery for report in third.reports} == {"same"}
    assert all("wait" in report.seconds for report in third.reports if report.attempt)
    before = app.content("counts")
    app.restart()
    again = app.fed("words", words(5, 300))
    assert {report.recovery for report in again.reports} == {"same"}
    assert app.content("counts").keys() == before.keys()


def test_what_is_built_on_a_commit_that_failed_changes_nothing(app: Sparkless, file: ProgressFile) -> None:
    before = app.content("counts")
    _, plan = ahead(app, file)
    file.give_up()
    with pytest.raises(LogError, match="could not be published"):
        app.table(plan)
    app.restart()
    third = app.batch()
    assert {report.recovery for report in third.reports if report.attempt} == {"undone"}
    assert third.records == 20
    after = app.content("counts")
    assert after.keys() == before.keys()
    assert {value[8:] for value in after.values()} == {(6).to_bytes(8, "big")}


def test_the_word_to_shut_down_outlives_a_commit_that_was_under_way(
    app: Sparkless, file: ProgressFile
) -> None:
    collected, _ = ahead(app, file)
    app.committer.shut_down("a poison record")
    assert app.committer.finish(collected, Stopwatch()).commit.number == 2
    record = app.log.committed("app")
    assert record is not None
    found = decode(record, CommitRecord)
    assert (found.number, found.shutdown) == (2, "a poison record")
