"""What happens to the disk under the local stores while an application runs."""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from headrace import StreamsBuilder
from headrace.errors import DiskFullError
from tests.spark import topologies
from tests.spark.harness import Application, Rec, encoded, reference
from tests.spark.harness.inputs import of_partition, parts
from tests.spark.harness.processes import command, java, pythons


def daemons() -> list[int]:
    """Those that fork the workers."""
    return [pid for pid in pythons(os.getpid()) if "daemon" in command(pid)]


@contextmanager
def no_more_than(size: int, processes: list[int]) -> Iterator[None]:
    """Processes, and those that they will fork, may write no file beyond a size: to them the disk is full."""
    assert processes
    before = {pid: resource.prlimit(pid, resource.RLIMIT_FSIZE) for pid in processes}
    for pid, (_, hard) in before.items():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        for pid, limits in before.items():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_stops_the_application_and_it_goes_on_when_there_is_room(
    application: Callable[..., Application],
) -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str).group_by_key().reduce(
        lambda old, new: new, store="latest"
    ).to_stream().to("out")
    app = application(builder.build(), partitions=2)
    small = [encoded(f"k{n}", f"v{n}", n) for n in range(100)]
    # Many small batches: only the stores grow beyond the limit, not what a batch puts aside.
    parts = [
        [encoded(f"k{n}", "x" * 20_000, 1_000 + n) for n in range(at, at + 20)] for at in range(0, 600, 20)
    ]
    app.run([{"in": small}])
    fed: list[int] = []

    def feed_all() -> None:
        for number, part in enumerate(parts):
            fed.append(number)
            app.feed({"in": part})

    with no_more_than(3_000_000, daemons()):
        app.start()
        with pytest.raises(DiskFullError) as told:
            feed_all()
        app.stop()
    message = str(told.value)
    assert f"the disk under `{app.config.state_path}" in message
    assert "this commit needs about" in message
    assert "set `state_dir` to a larger disk" in message
    with app:
        app.catch_up()
        app.feed(*({"in": part} for part in parts[len(fed) :]))
        assert app.streams is not None
        found = dict(app.streams.store("latest").all())
    assert found == {f"k{n}": "x" * 20_000 for n in range(600)}
    written = [record.key for records in app.read("out").values() for record in records]
    assert len(written) == 700, "nothing lost, nothing doubled"


def test_a_full_disk_under_temporary_files_stops_the_application(
    application: Callable[..., Application],
) -> None:
    """Large messages between the processes, and then what Spark shuffles."""
    builder = StreamsBuilder()
    builder.stream("in", value=str).repartition().to("out")
    app = application(builder.build(), partitions=2)
    large = [encoded(f"k{n}", "x" * 20_000, n) for n in range(100)]
    small = [encoded(f"k{n}", f"v{n}", n) for n in range(100, 6_000)]

    def stopped_by(part: list[Rec]) -> str:
        with pytest.raises(DiskFullError) as told:
            app.feed({"in": part})
        app.stop()
        return str(told.value)

    app.run([{"in": [encoded("k", "v", 0)]}])
    app.start()
    with no_more_than(300_000, daemons()):
        message = stopped_by(large)
    assert message.startswith(f"the disk under `{Path(tempfile.gettempdir(), 'headrace-run-')}")
    assert "a message of this batch needs about" in message
    assert "set the environment variable `TMPDIR` to a folder on a larger disk" in message
    app.start()
    app.catch_up()
    with no_more_than(20_000, java(os.getpid())):
        message = stopped_by(small)
    assert message.startswith(
        "a disk to which Spark writes is full (File too large): its temporary files are in `"
    )
    with app:
        app.catch_up()
    written = sorted(record.key for records in app.read("out").values() for record in records)
    assert written == sorted([b"k", *(b"k%d" % n for n in range(6_000))]), "nothing lost, nothing doubled"


def test_what_others_do_to_the_stores_of_a_running_application(
    application: Callable[..., Application],
) -> None:
    topology, inputs = topologies.windows(), parts("in", late=120, size=100, keys=20, count=4)
    app = application(topology)
    random = Random(4)

    def delete(state: Path) -> None:
        shutil.rmtree(state)

    def truncate(state: Path) -> None:
        for file in state.rglob("data.mdb"):
            os.truncate(file, file.stat().st_size // 2)

    def garble(state: Path) -> None:
        for file in state.rglob("data.mdb"):
            with file.open("r+b") as data:
                data.write(random.randbytes(file.stat().st_size))

    with app:
        app.feed(inputs[0])
        for damage, part in zip((delete, truncate, garble), inputs[1:], strict=True):
            app.batches.clear()
            damage(app.config.state_path)
            app.feed(part)
            assert "rebuilt" in app.recoveries(), damage.__name__
        assert app.streams is not None
        content = dict(app.streams.store("tumbling").all())
    expected = {}
    for number in range(4):
        found = reference(topology, of_partition(inputs, number, 4), stores=["tumbling"])
        expected.update(found.stores["tumbling"])
        for topic, records in found.outputs.items():
            assert app.read(topic)[number] == records
    assert content == expected
