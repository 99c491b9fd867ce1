"""Every recorded scenario with every seed on Spark, beside test drivers, with a progress bar: `make parity`.

python -m tests.parity                                everything, in as many processes as there are cores
python -m tests.parity --part 2/6                     a share of it; the table has all that was run so far
python -m tests.parity --missing                      what an interrupted command has left
python -m tests.parity --only session_count --seed 3  one scenario
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from semantics.scenarios import SCENARIOS

from headrace.spark.session import cores
from tests.kafka.broker import die_with_parent
from tests.parity.coverage import Coverage, coverage
from tests.parity.run import Way, ways
from tests.progress import Progress
from tests.tables import replace_generated, table

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".cache" / "parity"
PAGE = ROOT / "docs" / "operations" / "parity.md"
Answer = dict[str, Any]


def main() -> int:
    """Run what the command line asks for; 1 when something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.parity", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", help="a scenario; again for more")
    parser.add_argument("--seed", type=int, help="one seed of each")
    parser.add_argument("--partitions", type=int, choices=[1, 4], help="only with so many")
    parser.add_argument("--part", default="1/1", help="such as 2/6: the second of six shares")
    parser.add_argument("--jobs", type=int, default=cores(), help="processes, each with a Spark of its own")
    parser.add_argument(
        "--missing", action="store_true", help="only what was not run before, or differed then"
    )
    parser.add_argument("--fresh", action="store_true", help="forget what was run before")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    names = options.only or sorted(SCENARIOS)[part - 1 :: parts]
    chosen = [
        way
        for name in names
        for way in ways(name)
        if options.seed in (None, way.seed) and options.partitions in (None, way.partitions)
    ]
    if options.fresh:
        for file in KEPT.glob("*.json"):
            file.unlink()
    KEPT.mkdir(parents=True, exist_ok=True)
    if options.missing:
        chosen = [way for way in chosen if not _is_done(way)]
    bar = Progress(len(chosen), "runs")
    run_all(chosen, max(1, min(options.jobs, len(chosen))), lambda answer: _keep(answer, bar))
    bar.end()
    found = [json.loads(file.read_text()) for file in sorted(KEPT.glob("*.json"))]
    text = report(found, coverage())
    print(f"\n{text}\n")
    mine = {str(way) for way in chosen}
    failed = [answer for answer in found if answer["why"] and str(Way(**answer["way"])) in mine]
    for answer in failed:
        way = Way(**answer["way"])
        print(f"DIFFERS {way}: {answer['why'][:1500]}")
        print(
            f"  again: python -m tests.parity --only {way.scenario} --seed {way.seed} --partitions {way.partitions}"
        )
    if options.write and not failed:
        replace_generated(PAGE, "parity", text)
    return 1 if failed else 0


def _file(way: Way) -> Path:
    name = f"{way.scenario}-{way.seed}-{way.partitions}-{'several' if way.several else 'one'}"
    return KEPT / (name + (".json" if way.persistent else "-memory.json"))


def _is_done(way: Way) -> bool:
    file = _file(way)
    return file.exists() and not json.loads(file.read_text())["why"]


def _keep(answer: Answer, bar: Progress) -> None:
    way = Way(**answer["way"])
    fresh = _file(way).with_suffix(".new")
    fresh.write_text(json.dumps(answer) + "\n")
    fresh.replace(_file(way))
    bar.step(f"{way}, {answer['seconds']:.1f} s" + (" DIFFERS" if answer["why"] else ""))


def run_all(chosen: Sequence[Way], jobs: int, told: Callable[[Answer], None]) -> None:
    """Share the runs among processes."""
    waiting: queue.SimpleQueue[Way] = queue.SimpleQueue()
    for way in chosen:
        waiting.put(way)
    lock = threading.Lock()

    def work(number: int) -> None:
        while not waiting.empty():
            with (
                tempfile.TemporaryDirectory(prefix="headrace-parity-") as folder,
                Child(Path(folder)) as child,
            ):
                while True:
                    try:
                        way = waiting.get_nowait()
                    except queue.Empty:
                        return
                    answer = child.ask(way)
                    with lock:
                        told(answer or {**_nothing(way), "why": f"the process ended: {child.said()}"})
                    if answer is None:
                        break  # go on with another process

    threads = [threading.Thread(target=work, args=(number,)) for number in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _nothing(way: Way) -> Answer:
    counts = dict.fromkeys(("runs", "batches", "records", "stores", "rows"), 0)
    return {"way": asdict(way), **counts, "seconds": 0.0}


class Child:
    """A process that compares; see `tests.parity.child`."""

    def __init__(self, folder: Path) -> None:
        reading, writing = os.pipe()
        self._said = folder / "said.txt"
        failpoints = folder / "failpoints"
        failpoints.mkdir()
        with self._said.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.parity.child", str(writing)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | {"HEADRACE_FAILPOINTS": str(failpoints)},
                pass_fds=[writing],
                text=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - the only way, and nothing else runs in it
            )
        os.close(writing)
        self._answers = os.fdopen(reading)

    def ask(self, way: Way) -> Answer | None:
        """What came of it; None when the process has died."""
        assert self._process.stdin is not None
        try:
            print(json.dumps(asdict(way)), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return None
        line = self._answers.readline()
        answer: Answer | None = json.loads(line) if line else None
        return answer

    def said(self) -> str:
        return self._said.read_text(errors="replace")[-2000:]

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *failure: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()


def report(found: Sequence[Answer], covered: Coverage) -> str:
    """The counts of all runs that were kept, and what they cover."""
    ran = [Way(**answer["way"]) for answer in found]
    rows: list[list[object]] = []
    for partitions, several, persistent, label in (
        (1, False, True, "one partition, one batch: as one driver"),
        (1, True, True, "one partition, several batches: as one driver"),
        (4, True, True, "four partitions, several batches: as one driver per task"),
        (4, True, False, "the same with stores in memory"),
    ):
        like = (partitions, several, persistent)
        these = [
            a for a, w in zip(found, ran, strict=True) if (w.partitions, w.several, w.persistent) == like
        ]
        rows.append([label, *_counted(these)])
    rows.append(["all", *_counted(found)])
    head = ["", "scenarios", "seeds", "runs", "batches", "records", "stores", "rows", "differences"]
    whole = sum(len(ways(name)) for name in SCENARIOS)
    names = {way.scenario for way in ran}
    summary = f"{len(found):,} of {whole:,} runs, over {len(names)} of {len(SCENARIOS)} scenarios:"
    return "\n\n".join([summary, table(head, rows), covered.text()])


def _counted(answers: Sequence[Answer]) -> list[int]:
    scenarios = {answer["way"]["scenario"] for answer in answers}
    seeds = {(answer["way"]["scenario"], answer["way"]["seed"]) for answer in answers}
    counts = [
        sum(answer[name] for answer in answers) for name in ("runs", "batches", "records", "stores", "rows")
    ]
    return [len(scenarios), len(seeds), *counts, sum(bool(answer["why"]) for answer in answers)]


if __name__ == "__main__":
    sys.exit(main())
