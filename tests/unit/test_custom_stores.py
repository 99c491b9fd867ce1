"""Stores of the user's own: kept exactly once, whatever happens to the batch, the process and the disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from semantics.batches import BatchHost, HostedTask

from headrace import (
    Processor,
    Record,
    StateStore,
    StateStoreContext,
    StreamsBuilder,
    StreamsConfig,
    Topology,
    custom_store,
)
from headrace.errors import CallbackError, InvalidArgumentError, StoreError
from headrace.testing import TopologyTestDriver
from tests.spark.harness.inputs import parts
from tests.spark.store_topologies import Bags, Ranks, custom_stores, global_custom_store

INPUTS = [
    (record.key, record.value, record.timestamp, ())
    for part in parts("in", count=6, size=40)
    for record in part["in"]
]


def expected() -> dict[str, list[Any]]:
    """What the driver makes of the input without any disturbance."""
    with TopologyTestDriver(custom_stores()) as driver:
        for record in INPUTS:
            driver.pipe_bytes("in", *record)
        return {topic: list(driver.produced(topic)) for topic in ("ranked", "bagged")}


def test_a_driver_that_starts_again_and_again_gives_the_same() -> None:
    truth = expected()
    with TopologyTestDriver(custom_stores()) as driver:
        for number, record in enumerate(INPUTS):
            if number % 7 == 3:
                driver.restart()
            driver.pipe_bytes("in", *record)
        assert {topic: list(driver.produced(topic)) for topic in truth} == truth
        bags = driver.store("bags")
        assert isinstance(bags, Bags)
        assert bags.bags
        ranks = driver.get_state_store("ranks")
        assert isinstance(ranks, Ranks)
        assert ranks.best() == sorted(ranks.best(), reverse=True)


def test_what_is_logged_is_what_it_is_rebuilt_from() -> None:
    with TopologyTestDriver(custom_stores(), StreamsConfig(application_id="app")) as driver:
        for record in INPUTS:
            driver.pipe_bytes("in", *record)
        last = {key: value for key, value, *_ in driver.produced("app-bags-changelog")}
        times = [time for _, _, time, _ in driver.produced("app-bags-changelog")]
        restored = Bags()
        restored.restore((k, v) for k, v in sorted(last.items()) if k is not None and v is not None)
        assert restored.bags == driver.store("bags").bags
        assert times == [time for _, _, time, _ in INPUTS]


@pytest.mark.parametrize("seed", range(4))
def test_batches_that_fail_or_find_nothing_on_disk_leave_no_trace(tmp_path: Path, seed: int) -> None:
    truth, pick, found = expected(), Random(seed), {"ranked": [], "bagged": []}  # type: ignore[var-annotated]
    host = BatchHost(custom_stores(), StreamsConfig(application_id="app"), tmp_path)
    (task,) = host.tasks
    records = list(INPUTS)
    while records:
        size = pick.randint(1, 20)
        batch, records = records[:size], records[size:]
        if pick.random() < 0.4:
            fail(host, task, batch[: pick.randint(1, size)])
        for taken in host.run([("in", batch)], lose_stores=pick.random() < 0.3):
            found[taken.topic] += zip(
                taken.keys, taken.values, taken.timestamps, [()] * len(taken), strict=True
            )
    assert found == truth
    assert {"empty", "same", "rebuilt"} <= set(task.kinds)
    host.close()


def fail(host: BatchHost, task: HostedTask, records: list[Any]) -> None:
    """Run some records, and then lose the batch: what they did must not be seen again."""
    task.prepare()
    offsets = dict(host.offsets)
    task.task.process([host.chunk("in", *zip(*records, strict=True))])
    task.task.flush()
    host.offsets = offsets
    task.output.clear()
    task.task.close()
    task.renew()


def test_a_global_store_of_ones_own() -> None:
    with TopologyTestDriver(global_custom_store()) as driver:
        table, words = driver.input("table", str, str), driver.input("in", str, str)
        words.pipe("k", "a1")
        table.pipe("a", "apple")
        table.pipe("b", "banana")
        words.pipe("k", "b1")
        table.pipe("a", "apricot")
        words.pipe("k", "a2")
        assert driver.output("asked").read_values() == ["nothing", "1 banana of 2", "0 apricot of 2"]


def with_store(store: Any, use: Any, **options: Any) -> Topology:
    class Use(Processor[str, str, str, str]):
        def process(self, record: Record[str, str]) -> None:
            got = use(self.context.get_state_store("mine"), record)
            self.context.forward(record.with_value(str(got)))

    builder = StreamsBuilder()
    builder.stream("in", value=str).process(
        Use, stores=[custom_store("mine", store, **options)], value=str, name="use"
    ).to("out")
    return builder.build()


def run(topology: Topology, *records: tuple[str, str], config: StreamsConfig | None = None) -> list[str]:
    with TopologyTestDriver(topology, config) as driver:
        for key, value in records:
            driver.input("in").pipe(key, value)
        return driver.output("out").read_values()


def test_the_life_of_a_store() -> None:
    """init and restore come first, flush before every commit, close at the end."""
    calls: list[str] = []

    class Noisy(StateStore):
        def init(self, context: StateStoreContext) -> None:
            super().init(context)
            calls.append(f"init {context.application_id} {context.task_id}")

        def restore(self, rows: Iterator[tuple[bytes, bytes]]) -> None:
            calls.append(f"restore {list(rows)}")

        def flush(self) -> None:
            calls.append("flush")

        def close(self) -> None:
            calls.append("close")

    def use(store: Any, record: Record[str, str]) -> None:
        calls.append("use")
        store.rows.put(record.key.encode(), record.value.encode(), timestamp=77)

    with TopologyTestDriver(with_store(Noisy, use), StreamsConfig(application_id="app")) as driver:
        driver.input("in").pipe("a", "1")
        driver.restart()
        driver.input("in").pipe("a", "2")
        assert [time for *_, time, _ in driver.produced("app-mine-changelog")] == [77, 77]
    assert calls == [
        "init app 0_0",
        "restore []",
        "use",
        "flush",
        "init app 0_0",
        "restore [(b'a', b'1')]",
        "use",
        "flush",
        "close",
    ]


def test_rows_are_in_the_order_of_their_keys() -> None:
    def use(store: Any, record: Record[str, str]) -> list[Any]:
        rows = store.rows
        for key in (b"b", b"aa", b"a", b"c\xff", b"c"):
            rows.put(key, key)
        rows.delete(b"b")
        return [
            [key for key, _ in rows.range()],
            [key for key, _ in rows.range(b"a", b"aa")],
            [key for key, _ in rows.range(reverse=True)],
            [key for key, _ in rows.prefix(b"c")],
            rows.count(),
            rows.get(b"b"),
        ]

    assert run(with_store(StateStore, use), ("k", "v")) == [
        str([[b"a", b"aa", b"c", b"c\xff"], [b"a"], [b"c\xff", b"c", b"aa", b"a"], [b"c", b"c\xff"], 4, None])
    ]


def test_a_store_without_logging_writes_no_changelog() -> None:
    topology = with_store(StateStore, lambda store, record: store.rows.put(b"a", b"b"), logging=False)
    with TopologyTestDriver(topology) as driver:
        driver.input("in").pipe("a", "1")
        assert driver.produced_topic_names() == {"out"}


def test_a_folder_of_its_own(tmp_path: Path) -> None:
    def use(store: Any, record: Record[str, str]) -> Path:
        folder: Path = store.context.state_dir
        assert folder.is_dir()
        return folder

    config = StreamsConfig(application_id="app", state_dir=str(tmp_path))
    assert run(with_store(StateStore, use), ("a", "b"), config=config) == [str(tmp_path / "app" / "0_0")]


@pytest.mark.parametrize("wrong", ["text", None, 7])
def test_rows_are_bytes(wrong: Any) -> None:
    topology = with_store(StateStore, lambda store, record: store.rows.put(wrong, b""))
    with pytest.raises(
        CallbackError, match=r"store `mine`: a key of its rows must be bytes, got .* serialize it"
    ):
        run(topology, ("a", "b"))


def test_a_value_that_is_not_bytes() -> None:
    topology = with_store(StateStore, lambda store, record: store.rows.put(b"a", 7))
    with pytest.raises(
        CallbackError, match="store `mine`: a value of its rows must be bytes, got 7 of type `int`"
    ):
        run(topology, ("a", "b"))


@pytest.mark.parametrize("method", ["init", "restore", "flush"])
def test_a_store_that_raises_is_named_with_the_line(method: str) -> None:
    def broken(self: StateStore, *args: Any) -> None:
        raise ValueError("no")  # here

    store = type("Broken", (StateStore,), {method: broken})
    with pytest.raises(CallbackError) as raised:
        run(with_store(store, lambda store, record: None), ("a", "b"))
    assert raised.value.message == f"store `mine`: `Broken.{method}` raised ValueError: no"
    line = broken.__code__.co_firstlineno + 1
    assert str(raised.value).endswith(f"(at {__file__}:{line})")


def test_a_closed_store_says_so() -> None:
    with TopologyTestDriver(with_store(StateStore, lambda store, record: None)) as driver:
        store = driver.store("mine")
    with pytest.raises(StoreError, match="store `mine` is closed: it lives as long as its task or driver"):
        store.rows.get(b"a")


@pytest.mark.parametrize(
    ("supplier", "message"),
    [
        (
            StateStore(),
            r"a store is made anew for each task: pass its class or a function that returns one, got <",
        ),
        (
            None,
            r"a store is made anew for each task: pass its class or a function that returns one, got None",
        ),
        (Counter, r"a store of your own is a `StateStore`, and `Counter` is none: derive it from"),
    ],
)
def test_what_is_no_store_is_refused_when_it_is_given(supplier: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        custom_store("mine", supplier)


def test_a_supplier_that_makes_no_store() -> None:
    with pytest.raises(
        InvalidArgumentError, match="the supplier of the store `mine` must return a `StateStore`, got 7"
    ):
        run(with_store(lambda: 7, lambda store, record: None), ("a", "b"))
