"""`topology.optimization` on Spark: the same results, with fewer topics and stores."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from headrace import log_and_continue
from tests.spark import optimized_topologies as topologies
from tests.spark.harness import Application, Part, by_key, encoded, flat, reference
from tests.spark.harness.inputs import of_partition, parts
from tests.spark.harness.processes import kill_workers
from tests.spark.harness.records import Rec

SETTINGS: dict[str, Any] = {"deserialization_handler": log_and_continue}
STORES = ("numbers", "names")


def numbers(part: int) -> list[Part]:
    """Rows, deleted rows, a record without a key and one that cannot be read, out of order; then what is joined."""
    rows = [encoded(f"k{n}", n * 100 + part, 50 * part + (n * 7) % 40) for n in range(12)]
    rows += [encoded(f"k{part}", None, 50 * part + 45), Rec(None, b"12345678", 50 * part + 46)]
    rows.append(Rec(f"k{part + 1}".encode(), b"three", 50 * part + 47))
    names = [encoded(f"k{n}", f"name-{n}-{part}", 50 * part + n) for n in range(0, 12, 3)]
    stream = [encoded(f"k{n}", f"a{n}", 50 * part + 2 * n) for n in range(12)]
    return [{"numbers": rows}, {"names": names, "in": stream}]


def content(app: Application) -> dict[str, dict[Any, Any]]:
    assert app.streams is not None
    return {name: dict(app.streams.store(name).all()) for name in STORES}


def assert_as_in_the_driver(app: Application, inputs: list[Part], held: dict[str, dict[Any, Any]]) -> None:
    expected: dict[str, dict[Any, Any]] = {name: {} for name in STORES}
    for number in range(4):
        only = of_partition([without_null_keys(part) for part in inputs], number, 4)
        found = reference(topologies.tables("all"), only, stores=STORES, **SETTINGS)
        for topic, records in found.outputs.items():
            assert app.read(topic)[number] == records, f"{topic}, partition {number}"
        for name, rows in found.stores.items():
            expected[name].update(rows)
    assert held == expected


def without_null_keys(part: Part) -> Part:
    """They are in any partition, and change nothing."""
    return {
        topic: [record for record in records if record.key is not None] for topic, records in part.items()
    }


def test_a_table_is_rebuilt_from_its_own_topic(application: Callable[..., Application]) -> None:
    """With the times that an extractor gave, and without what could not be read."""
    inputs = [each for part in range(4) for each in numbers(part)]
    app = application(topologies.tables("all"), **SETTINGS).run(inputs[:4])
    shutil.rmtree(app.config.state_path)
    kill_workers(os.getpid())  # idle ones still have the files open
    app.batches.clear()
    with app:
        app.feed(*inputs[4:])
        held = content(app)
    assert app.recoveries() == {"rebuilt", "same"}
    assert_as_in_the_driver(app, inputs, held)
    assert not [
        topic for topic in app.log.topics() if topic.endswith(("numbers-changelog", "names-changelog"))
    ]
    written = [record for part in inputs for record in part.get("numbers", ())]
    assert sorted(flat(app.read("numbers")), key=str) == sorted(written, key=str)


def test_a_copy_that_is_behind_catches_up(application: Callable[..., Application]) -> None:
    inputs = [each for part in range(3) for each in numbers(part)]
    app = application(topologies.tables("all"), **SETTINGS).run(inputs[:2])
    state = app.config.state_path
    shutil.copytree(state, state.with_name("copy"))
    app.run(inputs[2:4])
    kill_workers(os.getpid())
    shutil.rmtree(state)
    state.with_name("copy").rename(state)
    app.batches.clear()
    with app:
        app.feed(*inputs[4:])
        held = content(app)
    assert "caught_up" in app.recoveries()
    assert_as_in_the_driver(app, inputs, held)


def test_the_changelog_can_be_given_up(application: Callable[..., Application]) -> None:
    inputs = [each for part in range(4) for each in numbers(part)]
    app = application(topologies.tables("none"), **SETTINGS).run(inputs[:4])
    app.start(topologies.tables("all"))
    app.feed(*inputs[4:6])
    held = content(app)
    app.stop()
    assert_as_in_the_driver(app, inputs[:6], held)
    written = app.read("app-names-changelog")
    app.start(topologies.tables("all"))
    app.feed(*inputs[6:])
    held = content(app)
    app.stop()
    assert_as_in_the_driver(app, inputs, held)
    assert app.read("app-names-changelog") == written


def test_a_self_join_keeps_its_stream_once(application: Callable[..., Application]) -> None:
    inputs = parts("in", late=30, keys=20, size=80)
    app = application(topologies.self_join("all"))
    for part in inputs:
        app.run([part])
    for number in range(4):
        expected = reference(topologies.self_join("all"), of_partition(inputs, number, 4))
        assert app.read("joined")[number] == expected.outputs.get("joined", [])
    assert len([topic for topic in app.log.topics() if "KSTREAM" in topic]) == 1


@pytest.mark.parametrize("optimization", ["none", "all"])
def test_merged_repartitions_give_the_same(
    optimization: str, application: Callable[..., Application]
) -> None:
    """Also where the other of two merged streams has other partitions than the one that changed its key."""
    names: Part = {"names": [encoded(letter, f"letter-{letter}" * n, 0) for n, letter in enumerate("abcd")]}
    inputs = [names, *parts("in", count=3)]
    more: Part = {"more": [encoded(letter, f"{letter}1", 5000 + n) for n, letter in enumerate("abcdabcd")]}
    app = application(topologies.merged(optimization), topics={"in": 3, "more": 4})
    with app:
        app.feed(*inputs, more)
        assert app.streams is not None
        stores = ("lengths", "counts", "named", "last")
        held = {name: dict(app.streams.store(name).all()) for name in stores}
    expected = reference(topologies.merged("none"), [*inputs, more], stores=stores)
    assert held == {name: dict(rows) for name, rows in expected.stores.items()}
    for topic in ("lengths", "counts", "named", "last"):
        last = {key: records[-1].value for key, records in by_key(flat(app.read(topic))).items()}
        assert last == {key: records[-1].value for key, records in by_key(expected.outputs[topic]).items()}


def test_a_store_is_found_again_in_a_task_with_another_number(
    application: Callable[..., Application],
) -> None:
    """A new source that comes first in the program moves the numbers of all that come behind it."""
    inputs = parts("in", count=3)
    app = application(topologies.counted(more=False), topics={"more": 4}).run(inputs[:2])
    app.start(topologies.counted(more=True))
    app.feed(*inputs[2:], {"more": [encoded("k1", "a1", 9000)]})
    assert app.streams is not None
    held = dict(app.streams.store("counts").all())
    assert dict(app.streams.store("first").all()) == {"k1": 1}
    app.stop()
    expected = reference(topologies.counted(more=False), inputs, stores=["counts"]).stores["counts"]
    assert held == dict(expected)
