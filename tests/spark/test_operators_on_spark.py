"""Every family of operators, with four partitions and in several batches, gives what the test driver gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from headrace.topology.topology import Topology
from tests.spark import topologies
from tests.spark.harness import Application, Part, Rec, by_key, encoded, flat, partition, reference
from tests.spark.harness.inputs import of_partition, parts

PARTITIONS = 4

NAMES = [encoded(f"k{i}", f"name-{i}", i) for i in range(0, 10, 2)]
LETTERS = [encoded(letter, f"letter-{letter}", 0) for letter in "abc"]


def check_keys(app: Application, topology: Topology, inputs: Sequence[Part]) -> None:
    """Per key, the same records in the same order, each in the partition of its key."""
    expected = reference(topology, inputs)
    assert expected.outputs
    for topic, records in expected.outputs.items():
        found = app.read(topic)
        assert by_key(flat(found)) == by_key(records), topic
        for number, written in found.items():
            assert {partition(record.key, PARTITIONS) for record in written} <= {number}


def check_partitions(app: Application, topology: Topology, inputs: Sequence[Part]) -> None:
    """Partition by partition and record by record, what a driver of its own makes of that partition's input."""
    for number in range(PARTITIONS):
        expected = reference(topology, of_partition(inputs, number, PARTITIONS))
        for topic, records in expected.outputs.items():
            assert app.read(topic)[number] == records, f"{topic}, partition {number}"


@pytest.mark.parametrize(
    ("topology", "inputs"),
    [
        (topologies.stateless(), parts("left", "right")),
        (topologies.aggregates(), parts("in")),
        (topologies.joins(), [{"table": NAMES}, *parts("stream", "table")]),
        (topologies.rekeyed_joins(), [{"table": NAMES}, *parts("stream", "table")]),
        (topologies.global_joins(), [{"table": LETTERS}, *parts("stream")]),
        (topologies.chained(), parts("in")),
        (topologies.cycle(), [{"names": NAMES}, *parts("in")]),
    ],
    ids=["stateless", "aggregates", "joins", "rekeyed-joins", "global-joins", "chained", "cycle"],
)
def test_keys_see_what_they_see_in_the_driver(
    topology: Topology, inputs: list[Part], application: Callable[..., Application]
) -> None:
    app = application(topology).run(inputs)
    check_keys(app, topology, inputs)
    assert len(app.batches) >= len(inputs)


@pytest.mark.parametrize(
    ("topology", "inputs"),
    [
        (topologies.rekeyed_joins(), [{"table": NAMES}, *parts("stream", "table")]),
        (topologies.global_joins(), [{"table": LETTERS}, *parts("stream")]),
        (topologies.chained(), [{"in": part["in"][: 60 - 20 * n]} for n, part in enumerate(parts("in"))]),
        (topologies.cycle(), [{"names": NAMES}, *parts("in")]),
    ],
    ids=["rekeyed-joins", "global-joins", "chained", "cycle"],
)
def test_small_batches_in_one_task_give_the_same(
    topology: Topology, inputs: list[Part], application: Callable[..., Application]
) -> None:
    """Some batches are small, some are not: tasks go on in another process, with the same stores."""
    app = application(topology, small_batch_records=40).run(inputs)
    check_keys(app, topology, inputs)
    assert {batch.divided for batch in app.batches} == {True, False}


@pytest.mark.parametrize(
    ("topology", "inputs"),
    [
        (topologies.windows(), parts("in", late=120, size=100, keys=20)),
        (topologies.ranking(), parts("in", late=50, keys=20)),
        (topologies.by_value_time(), parts("in")),
        (topologies.joins(), [{"table": NAMES}, *parts("stream", "table", late=30)]),
    ],
    ids=["windows", "process-and-punctuate", "timestamp-extractor", "joins-out-of-order"],
)
def test_each_partition_has_its_own_time(
    topology: Topology, inputs: list[Part], application: Callable[..., Application]
) -> None:
    app = application(topology).run(inputs)
    check_partitions(app, topology, inputs)


def test_records_go_where_extractor_and_partitioner_send_them(
    application: Callable[..., Application],
) -> None:
    inputs = parts("in-1", "in-2")
    topology = topologies.routed()
    outputs = dict.fromkeys((f"out-{letter}" for letter in "abcd"), 2)
    app = application(topology, topics={"in-1": 4, "in-2": 3, "chosen": 5, **outputs}).run(inputs)
    everything = [record for part in inputs for records in part.values() for record in records]
    for topic in outputs:
        letter = topic[-1].encode()
        wanted = [record for record in everything if (record.value or b"").startswith(letter)]
        assert wanted
        assert Counter(flat(app.read(topic))) == Counter(wanted)
    for number, records in app.read("chosen").items():
        wanted = [record for record in everything if int((record.value or b"")[1:]) % 5 == number]
        assert Counter(records) == Counter(wanted)


def test_headers_go_all_the_way(application: Callable[..., Application]) -> None:
    topology = topologies.headers()
    plain = parts("in", count=2)
    inputs: list[Part] = [
        {
            "in": [
                r._replace(headers=(("n", str(i).encode()), ("none", None)))
                for i, r in enumerate(plain[0]["in"])
            ]
        },
        # Some with, some without.
        {"in": [r._replace(headers=(("n", b"1"),) * (i % 3)) for i, r in enumerate(plain[1]["in"])]},
    ]
    app = application(topology).run(inputs)
    check_keys(app, topology, inputs)
    assert all(len(record.headers) <= 2 for record in flat(app.read("moved")))
    assert any(record.headers for record in flat(app.read("moved")))


def test_one_application_reads_what_another_writes(application: Callable[..., Application]) -> None:
    inputs = parts("in")
    first = application(topologies.first_half(), application_id="first")
    second = application(topologies.second_half(), application_id="second")
    middle = reference(topologies.first_half(), inputs).outputs["middle"]
    with first, second:
        for part in inputs:
            first.feed(part)
            second.catch_up()
    assert by_key(flat(first.read("middle"))) == by_key(middle)
    expected = reference(topologies.second_half(), [{"middle": middle}]).outputs["out"]
    assert by_key(flat(second.read("out"))) == by_key(expected)


def test_records_without_a_key_are_spread_and_none_is_lost(application: Callable[..., Application]) -> None:
    records = [Rec(None, f"a{i}".encode(), i) for i in range(100)]
    app = application(topologies.headers()).run([{"in": records}])
    copies = app.read("copies")
    assert Counter(flat(copies)) == Counter(r._replace(value=(r.value or b"").upper()) for r in records)
    assert all(copies.values())
    # They get a key, and so belong together.
    assert [r.value for r in flat(app.read("moved"))] == [record.value for record in records]
    # Without a key there is nothing to count.
    assert flat(app.read("counts")) == []
