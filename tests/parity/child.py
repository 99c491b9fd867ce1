"""A process with a Spark of its own that compares the scenarios it is told, and answers line by line."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from headrace.spark.session import release, session
from tests.parity.run import Counts, Way, compare


def answer(line: str, number: int, scratch: Path, clock: Path) -> dict[str, object]:
    """Compare what one line asks for."""
    way = Way(**json.loads(line))
    began = time.monotonic()
    try:
        counts, why = compare(way, scratch / str(number), clock), ""
    except Exception as error:
        counts, why = Counts(runs=1), f"{type(error).__name__}: {error}"
        if not isinstance(error, AssertionError):
            why += "\n" + "".join(traceback.format_exception(error)[-4:])
    return {"way": asdict(way), **asdict(counts), "seconds": time.monotonic() - began, "why": why[:4000]}


def serve(asked: TextIO, answers: TextIO) -> None:
    """Until there is nothing more to do."""
    clock = Path(os.environ["HEADRACE_FAILPOINTS"]) / "clock"
    clock.write_text("0")
    spark = session(None, "parity", {})
    with tempfile.TemporaryDirectory(prefix="headrace-parity-") as scratch:
        for number, line in enumerate(asked):
            print(json.dumps(answer(line, number, Path(scratch), clock)), file=answers, flush=True)
    release(spark)


if __name__ == "__main__":
    with os.fdopen(int(sys.argv[1]), "w") as pipe:
        serve(sys.stdin, pipe)
