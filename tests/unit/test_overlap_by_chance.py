"""Batches over commits that are being published, broken off anywhere, with stores that get lost: every result is there
once, and every store is what it would have been.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random

import msgspec
import pyarrow as pa
import pytest

from headrace import StreamsBuilder, TimeWindows, Topology
from headrace.errors import HeadraceError, LogError
from headrace.spark import rows
from headrace.spark.commit import Plan
from headrace.spark.progress import Progress, ProgressFile
from headrace.spark.publish import Collected
from headrace.spark.runtime import Runtime
from headrace.spark.stopwatch import Stopwatch
from tests.spark.harness.records import Rec
from tests.spark.harness.sparkless import Sparkless

OUTPUTS = ("letters", "windows", "joined")
STORES = ("by-letter", "by-window", "names")

Row = tuple[bytes, bytes | None, int]


def topology() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("words", value=str)
    words.group_by(lambda key, word: word[0]).count(store="by-letter").to_stream().to("letters", value=int)
    windows = TimeWindows(timedelta(seconds=2), grace=timedelta(seconds=1))
    counts = words.group_by_key().windowed_by(windows).count(store="by-window").to_stream()
    counts.map(lambda window, n: (f"{window.key}@{window.start}", n), value=int).to("windows", value=int)
    names = builder.table("names", value=str, store="names")
    words.left_join(names, join=lambda word, name: f"{word} {name}", value=str).to("joined", value=str)
    return builder.build()


def inputs(pick: Random) -> Iterator[tuple[str, list[Row]]]:
    """Some records after the others; time rises, so that it does not matter where batches end."""
    time = 0
    for _ in range(30):
        records: list[Row] = []
        for _ in range(pick.choice((1, 3, 40))):
            time += pick.choice((1, 5, 120))
            value = pick.choice((b"ant", b"bee", b"cat"))
            records.append((b"k%d" % pick.randrange(6), value, time))
        yield pick.choice(("words", "words", "names")), records


class Shaken(Sparkless):
    """An application in two workers, which all kinds of things happen to."""

    def __init__(self, folder: Path, pick: Random) -> None:
        super().__init__(topology(), folder / "data", partitions=2)
        self.folder, self.pick = folder, pick
        self.over = 0
        """Batches that were processed while the one before was published."""

    def begin(self) -> None:
        self.start()
        self.workers = [self.runtime, Runtime(self.shipment)]
        self.file = ProgressFile(Path(tempfile.mkdtemp(dir=self.folder)) / "progress.json")
        self.coming: Collected | None = None

    def end(self) -> None:
        self.workers[1].close()
        self.runtime = self.workers[0]
        self.stop()

    def table(self, plan: Plan) -> pa.Table:
        """Of one worker or the other, divided or not, with its messages in files or not."""
        self.runtime, self.together = self.pick.choice(self.workers), self.pick.random() < 0.5
        folder = str(self.file.parcels) if self.pick.random() < 0.5 else None
        return super().table(msgspec.structs.replace(plan, parcels=folder))

    def lose_a_store(self) -> None:
        found = sorted(file.parent for file in (self.folder / "data" / "state").rglob("data.mdb"))
        if found and self.pick.random() < 0.2:
            shutil.rmtree(self.pick.choice(found))

    def step(self) -> None:
        """A batch, or a half; HeadraceError when it was broken off."""
        what = self.pick.choice(("whole", "ahead", "ahead", "broken"))
        if self.coming is None:
            plan = self.planner.plan(self.committer.base)
            if plan is None:
                return
            collected = self.committer.take(self.table(plan))
            if what == "broken":
                raise LogError("the driver is gone")
            coming = self.committer.coming(collected)
            if what == "ahead" and coming is not None:
                self.coming = collected
                self.file.write(Progress(self.committer.base, ahead=coming))
            else:
                self.committer.finish(collected, Stopwatch())
            return
        self.behind(self.coming, broken=what == "broken")

    def behind(self, coming: Collected, *, broken: bool) -> None:
        """The next batch beside the publication of the one before, which fails or not."""
        ahead = self.committer.coming(coming)
        assert ahead is not None
        plan = self.planner.plan(ahead)
        found: list[pa.Table | HeadraceError] = []

        def work(plan: Plan) -> None:
            try:
                found.append(self.table(msgspec.structs.replace(plan, pending=str(self.file.path))))
            except HeadraceError as error:
                found.append(error)

        working = threading.Thread(target=work, args=(plan,))
        if plan is not None:
            working.start()
            working.join(self.pick.random() * 0.02)
        if broken:
            self.file.give_up()
        else:
            self.committer.finish(coming, Stopwatch())
            self.file.write(Progress(self.committer.base))
        if plan is not None:
            working.join(60)
            (result,) = found
            if isinstance(result, HeadraceError):
                raise result
            assert not broken, "nothing may be built on a commit that has failed"
            self.committer.finish(self.committer.take(result), Stopwatch())
            self.over += 1
        if broken:
            raise LogError("the commit has failed")
        self.coming = None


@pytest.mark.parametrize("seed", range(4))
def test_every_result_is_there_once(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LARGE", 300)
    pick = Random(seed)
    parts = list(inputs(pick))
    last = parts[-1][1][-1][2]
    with Sparkless(topology(), tmp_path / "whole", partitions=2) as whole:
        for topic, records in parts:
            whole.append(topic, records)
        whole.catch_up()
        shaken = Shaken(tmp_path, pick)
        shaken.begin()
        while parts or shaken.coming is not None:
            if parts:
                shaken.append(*parts.pop(0))
            shaken.lose_a_store()
            try:
                shaken.step()
            except HeadraceError:
                shaken.end()
                shaken.begin()
        assert shaken.over > 2, "some were processed beside another's publication"
        # All that is left, with every store made anew.
        shaken.end()
        shutil.rmtree(tmp_path / "data" / "state")
        shaken.begin()
        for app in (whole, shaken):
            app.append("words", [(b"k%d" % number, b"dog", last + number) for number in range(8)])
            app.catch_up()
        for topic in OUTPUTS:
            assert by_key(shaken.read(topic)) == by_key(whole.read(topic))
        for store in STORES:
            assert shaken.content(store) == whole.content(store)
        shaken.end()
        shaken.close()


def by_key(found: dict[int, list[Rec]]) -> dict[tuple[int, bytes | None], list[tuple[bytes | None, int]]]:
    """The results of each key in their order; those of different keys have none."""
    results: dict[tuple[int, bytes | None], list[tuple[bytes | None, int]]] = {}
    for partition, records in found.items():
        for record in records:
            results.setdefault((partition, record.key), []).append((record.value, record.timestamp))
    return results
