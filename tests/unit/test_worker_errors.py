"""What goes wrong in a worker arrives as an error of the batch, whichever way the batch takes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.datasource import InputPartition

from headrace import StreamsBuilder, Topology
from headrace.errors import HeadraceError, ProcessingError
from headrace.spark import runtime
from headrace.spark.commit import encode
from headrace.spark.publish import collect
from headrace.spark.query import in_a_few_words
from headrace.spark.source import HeadraceReader
from headrace.spark.stage import stage
from tests.spark.harness.sparkless import Sparkless

Fail = Callable[[str], str]


def leave(value: str) -> str:
    sys.exit(f"enough of {value}")


def stateless(fail: Fail) -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=str).map_values(fail, value=str).to("out")
    return builder.build()


def stateful(fail: Fail) -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=str).group_by_key().reduce(lambda old, new: fail(new), store="s")
    return builder.build()


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    for found in runtime._runtimes.values():
        found.close()
    runtime._runtimes.clear()


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("build", [stateless, stateful])
def test_a_function_that_ends_the_process_is_named_like_one_that_raises(
    tmp_path: Path, build: Callable[[Fail], Topology], together: bool
) -> None:
    with Sparkless(build(leave), tmp_path, partitions=1) as app:
        app.append("in", [(b"k", b"one", 1), (b"k", b"two", 2)])
        application, layout = app.shipment.pack(), app.runtime.layout
        reader = HeadraceReader(application, "", one_host=True, modules="")
        plan = encode(app.next_plan())
        batches = list(reader.read(InputPartition((plan, [0], True, together))))
        for number in range(1, layout.stages + 1) if not together else ():
            batches = list(stage(application, number)(iter(batches)))
        error = collect(pa.Table.from_batches(batches), layout).error
    assert isinstance(error, HeadraceError)
    assert "SystemExit: enough of " in error.message
    assert type(error) is ProcessingError, "starting again would not help"
    assert "test_worker_errors.py:" in str(error)


def test_what_spark_says_is_what_python_said() -> None:
    said = """[STREAM_FAILED] Query terminated with exception: Job aborted due to stage failure: An exception was
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
KeyboardInterrupt: enough

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
\tat java.base/java.lang.Thread.run(Thread.java:1)
"""
    assert in_a_few_words(said) == "in a worker, Python raised KeyboardInterrupt: enough"


@pytest.mark.parametrize(("error", "is_told"), [("BrokenPipeError()", False), ("ValueError('no')", True)])
def test_a_planner_whose_spark_has_hung_up_dies_without_a_word(error: str, is_told: bool) -> None:
    options = {"application": "", "progress": "", "one_host": "true", "modules": ""}
    program = f"""
from headrace.spark.described import HeadraceSource
HeadraceSource({options}).streamReader(None)
raise {error}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert ("ValueError: no" in done.stderr) is is_told
    assert is_told or done.stderr == ""
