"""A rescaling that is broken off, refused, or begun while records are under way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import Materialized, Processor, Record, StreamsBuilder, key_value_store
from headrace.admin.rescale.memories import contributors, merged
from headrace.admin.rescale.plan import plan_rescale
from headrace.admin.stopped import local_folders, stopped
from headrace.errors import AlreadyRunningError, RescaleError, StartError
from headrace.failpoints import IN_ADMIN
from headrace.log import Outgoing
from headrace.partitioning import partition_for
from headrace.restore.recorded import recorded
from headrace.restore.standby import Standby
from headrace.spark.commit import CommitRecord, decode
from headrace.spark.explain import explain
from headrace.spark.explain.available import look
from headrace.topology.topology import Topology
from tests.spark.harness.inputs import parts
from tests.spark.harness.records import append, encoded, flat
from tests.spark.harness.sparkless import Sparkless
from tests.unit.rescale_app import topology
from tests.unit.rescaling import outputs, rows, to

ROOT = Path(__file__).parents[2]
APP = ROOT / "tests" / "unit" / "rescale_app.py"
TOPICS = ("letters", "windows", "pairs")
INPUT = [
    {"left": [encoded(f"l{n}", f"r{n % 7}{n}", n) for n in range(20)]}
    | {"right": [encoded(f"r{n}", f"right{n}", n) for n in range(9)]},
    *parts("in", count=4, size=50, keys=20),
]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Sparkless]]:
    made: list[Sparkless] = []

    def one(built: Topology = topology, folder: str = "app", **settings: Any) -> Sparkless:
        made.append(Sparkless(built, tmp_path / folder, **settings))
        return made[-1]

    yield one
    for app in made:
        app.close()


def command(app: Sparkless, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    where = ["--data-dir", app.config.data_dir, "--application-id", "app"]
    return subprocess.run(
        [sys.executable, "-m", "headrace.cli.main", "rescale", str(APP), *where, *options],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])} | environment,
        check=False,
    )


POINTS = [point for point in IN_ADMIN if point.startswith("rescale.")]


def test_killed_at_any_point_it_is_done_again(make: Callable[..., Sparkless], tmp_path: Path) -> None:
    """One application after the other point: at last it has been rescaled, or not, as often as there are points."""
    never = make(folder="never").run(INPUT)
    app = make().run(INPUT[:3])
    points = tmp_path / "failpoints"
    points.mkdir()
    for number, point in enumerate(POINTS):
        tasks = "62"[number % 2]
        (points / point).touch()
        killed = command(app, "--tasks", tasks, "--yes", HEADRACE_FAILPOINTS=str(points))
        assert killed.returncode == -9, killed.stderr
        if point in ("rescale.switched", "rescale.replaced"):
            with pytest.raises(StartError, match="`headrace rescale` of application `app` was begun"):
                app.start()
            other = command(app, "--tasks", "3", "--yes")
            assert f"a rescaling to {tasks} tasks was begun" in other.stderr
        elif point != "rescale.done":
            app.run([])  # nothing has happened to it
        done = command(app, "--tasks", tasks, "--yes")
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(f"application `app` has {tasks} tasks now\n")
    assert not [topic for topic in app.log.topics() if topic.endswith("-rescaled")]
    app.run(INPUT[3:])
    assert outputs(app, TOPICS, "all") == outputs(never, TOPICS, "all")
    assert rows(app, topology) == rows(never, topology)


def test_unread_input_and_records_under_way_are_not_lost(make: Callable[..., Sparkless]) -> None:
    never = make(folder="never").run(INPUT)
    app = make()
    app.start()
    append(app.log, INPUT[0])
    plan = app.planner.plan(app.committer.base)
    assert plan is not None
    app.batch(plan)  # the answers of the foreign-key join are in the log, and nobody has read them
    append(app.log, INPUT[1])
    positions = app.committer.base.positions
    app.stop()
    to(app, 3)
    found = app.log.committed("app")
    assert found is not None
    assert decode(found, CommitRecord).positions == positions
    app.run(INPUT[2:])
    assert outputs(app, TOPICS, "all") == outputs(never, TOPICS, "all")
    assert rows(app, topology) == rows(never, topology)


def keys_of(task: int, count: int, tasks: int) -> list[str]:
    """Some keys that belong to a task."""
    return [f"k{n}" for n in range(1000) if partition_for(f"k{n}".encode(), tasks) == task][:count]


@pytest.mark.parametrize("more", [0, 700], ids=["less than the retention", "more than the retention"])
@pytest.mark.parametrize("path", [(2, 1), (2, 3), (2, 3, 2)], ids=str)
def test_final_results_come_once_though_tasks_were_at_different_times(
    make: Callable[..., Sparkless], path: tuple[int, ...], more: int
) -> None:
    """Task 0 has sent windows that task 1 has not closed yet; a second rescaling comes before the next record."""
    ahead, behind = keys_of(0, 6, 2), keys_of(1, 6, 2)
    app = make(partitions=2)
    app.run(
        [
            {"in": [encoded(key, "a", time) for time in range(10, 261 + more, 50) for key in ahead]},
            {"in": [encoded(key, "a", time) for time in (10, 60, 110, 160) for key in behind]},
        ]
    )

    def sent() -> Counter[bytes | None]:
        return Counter(record.key for record in flat(app.read("windows")) if b"time" not in record.key)

    assert set(sent().values()) == {1}
    assert len(sent()) == (2 + more // 100) * 6 + 6
    for tasks in path[1:]:
        to(app, tasks)
    app.run(
        [{"in": [encoded(f"time-{n}", "a", time) for n in range(40)]} for time in (290 + more, 340 + more)]
    )
    assert set(sent().values()) == {1}
    assert len(sent()) == (3 + more // 100) * 6 + 2 * 6


def test_a_running_application_is_left_alone_and_a_new_one_has_nothing_to_move(
    make: Callable[..., Sparkless],
) -> None:
    app = make()
    with pytest.raises(RescaleError, match="has committed nothing yet"):
        to(app, 3)
    app.start()
    app.feed(*INPUT[:2])
    with pytest.raises(AlreadyRunningError, match="stop it first"):
        to(app, 3)
    app.stop()
    to(app, 3)


def test_another_topology_is_to_be_started_first(make: Callable[..., Sparkless]) -> None:
    app = make().run(INPUT[:2])
    builder = StreamsBuilder()
    builder.stream("in", value=str).group_by_key().count(store="counts")
    app.topology = builder.build()
    with pytest.raises(RescaleError, match="start this version once"):
        to(app, 3)


def test_a_dry_run_tells_everything_and_does_nothing(make: Callable[..., Sparkless]) -> None:
    app = make().run(INPUT)
    before = {topic: app.read(topic) for topic in app.log.topics()}
    done = command(app, "--tasks", "8", "--dry-run")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "sub-topology 0: 4 tasks become 8" in lines
    assert any(line.split()[:3] == ["store", "left", "20"] for line in lines)
    assert lines[-1] == "nothing was done"
    assert {topic: app.read(topic) for topic in app.log.topics()} == before
    done = command(app, "--tasks", "8")
    assert "there is no terminal to ask on" in done.stderr
    assert command(app, "--tasks", "0", "--yes").returncode == 1


def test_who_has_so_many_tasks_is_left_alone(make: Callable[..., Sparkless]) -> None:
    app = make().run(INPUT)
    # The same number as the topics have partitions is something else: tasks are cut loose from them.
    assert command(app, "--tasks", "4", "--yes").stdout.endswith("application `app` has 4 tasks now\n")
    before = app.log.committed("app")
    done = command(app, "--tasks", "4", "--yes")
    assert (done.returncode, done.stdout) == (0, "application `app` has 4 tasks already: nothing was done\n")
    assert app.log.committed("app") == before


class Keep(Processor[str, str, str, str]):
    """Puts each record under its own key."""

    def process(self, record: Record[str, str]) -> None:
        store = self.context.get_state_store("own")
        store.put(record.key, (store.get(record.key) or "") + record.value[0])
        self.context.forward(record.with_value(store.get(record.key)))


def own_store() -> Topology:
    builder = StreamsBuilder()
    kept = builder.stream("in", value=str).process(
        Keep, stores=[key_value_store("own", value=str)], value=str, name="keep"
    )
    kept.to("out")
    return builder.build()


def by_value(topic: str, key: Any, value: Any, partitions: int) -> int:
    return len(value) % partitions


def own_repartition() -> Topology:
    builder = StreamsBuilder()
    moved = builder.stream("in", value=str).repartition(name="moved", partitioner=by_value)
    moved.group_by_key().count(store="counts")
    return builder.build()


def own_topic() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=str).to("through", partitioner=by_value)
    builder.stream("through", value=str).group_by_key().count(store="counts")
    return builder.build()


def unlogged() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=str).group_by_key().count(store=Materialized("counts", logging=False))
    return builder.build()


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (
            own_store,
            r"store `own`: a processor of your own uses it.*\(node `keep`, at .*test_rescale_safely.py:",
        ),
        (
            own_repartition,
            r"store `counts`: its records were placed by a partitioner.*\(node `moved-.*, at .*\.py:",
        ),
        (
            own_topic,
            r"store `counts`: its records were placed by a partitioner.*SINK.*, at .*test_rescale_saf",
        ),
        (unlogged, r"store `counts`: it has no changelog.*\(at .*test_rescale_safely.py:"),
    ],
)
def test_what_was_not_placed_by_key_is_refused(
    make: Callable[..., Sparkless], build: Callable[[], Topology], why: str
) -> None:
    app = make(build()).run(parts("in", count=1))
    with pytest.raises(RescaleError, match=why):
        to(app, 3)


def test_the_user_may_say_that_a_store_is_keyed(make: Callable[..., Sparkless]) -> None:
    inputs = parts("in", count=2, keys=20)
    never = make(own_store(), "never").run(inputs)
    app = make(own_store()).run(inputs[:1])
    to(app, 7, keyed=["own"])
    app.run(inputs[1:])
    assert outputs(app, ["out"], "in order") == outputs(never, ["out"], "in order")
    with pytest.raises(RescaleError, match="there is no store `others` to move"):
        to(app, 3, keyed=["own", "others"])


def counts() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=str).group_by_key().count(store="counts").to_stream().to("out", value=int)
    return builder.build()


def send(app: Sparkless, place: Callable[[int], int]) -> None:
    keys = [b"k%d" % (n % 20) for n in range(100)]
    places = [place(n) for n in range(100)]
    app.log.append([Outgoing("in", keys, [b"v"] * 100, list(range(100)), partitions=places)])


def test_other_partitioners_are_welcome_if_a_key_is_in_one_partition(make: Callable[..., Sparkless]) -> None:
    app = make(counts())
    send(app, lambda n: n % 20 % 4)
    app.run([])
    to(app, 3)
    send(app, lambda n: n % 20 % 4)
    app.start()
    app.catch_up()
    assert dict(app.store("counts").all()) == {f"k{n}": 10 for n in range(20)}


def test_a_key_that_is_written_in_another_way_finds_its_task(make: Callable[..., Sparkless]) -> None:
    """A producer of other people's puts spaces into its JSON; stores do not."""
    builder = StreamsBuilder()
    counted = builder.stream("in", key=dict, value=str).group_by_key().count(store="counts")
    counted.to_stream().to("out", value=int)
    app = make(builder.build())

    def send(text: bytes) -> None:
        keys = [text % (n % 20) for n in range(100)]
        app.log.append([Outgoing("in", keys, [b"v"] * 100, list(range(100)))])

    send(b'{"id": %d}')
    app.run([])
    to(app, 3)
    send(b'{"id": %d}')
    send(b'{"id":%d}')
    app.start()
    app.catch_up()
    assert {key["id"]: count for key, count in app.store("counts").all()} == dict.fromkeys(range(20), 15)


def test_a_key_in_two_partitions_is_refused(make: Callable[..., Sparkless]) -> None:
    app = make(counts())
    send(app, lambda n: n % 4 if n % 20 else n // 20 % 4)
    app.run([])
    with pytest.raises(
        RescaleError, match=r"the key b'k0' has rows in task \d and in task \d of store `counts`"
    ):
        to(app, 3)


def test_a_partitioner_that_comes_later_is_refused_at_the_start(make: Callable[..., Sparkless]) -> None:
    app = make(counts()).run(parts("in", count=1))
    to(app, 3)
    app.log.create_topic("through", 4)
    builder = StreamsBuilder()
    builder.stream("in", value=str).group_by_key().count(store="counts").to_stream().to("out", value=int)
    builder.stream("out", value=int).map_values(str, value=str).to("through", partitioner=by_value)
    builder.stream("through", value=str).group_by_key().count(store="more")
    with pytest.raises(StartError, match="`through` is written with a partitioner of its own and read again"):
        app.start(builder.build())


def test_the_time_of_a_new_task_is_the_latest_of_those_whose_keys_it_gets() -> None:
    memories = [{"n/stream-time": 10}, {"n/stream-time": 30, "n/wall/0": [50, 1]}, {"n/wall/0": [40, 0]}, {}]
    assert merged(memories, [0, 1, 2, 3], hashed=True) == {"n/stream-time": 30, "n/wall/0": [40, 0]}
    assert merged(memories, [0, 2], hashed=True) == {"n/stream-time": 10, "n/wall/0": [40, 0]}
    assert merged(memories, [3], hashed=True) == {}
    assert contributors(2, 4, 8, hashed=True) == [2]
    assert contributors(2, 4, 8, hashed=False) == [0, 1, 2, 3]
    due = [{"n/stream/0": [100, 0]}, {"n/stream/0": [300, 0]}, {"n/stream/0": [-1, 0]}]
    assert merged(due, [0, 1, 2], hashed=True) == {"n/stream/0": [300, 0]}
    assert merged(due, [2], hashed=True) == {"n/stream/0": [-1, 0]}
    sent = [{"n/emitted": 10}, {"n/emitted": 30}]
    assert merged(sent, [0, 1], hashed=True) == {"n/emitted": 10, "n/emitted-before": [10, 30]}
    with pytest.raises(RescaleError, match="have sent their final results up to different times"):
        merged(sent, [0, 1], hashed=False)


def test_others_know_of_the_new_number_of_tasks(make: Callable[..., Sparkless]) -> None:
    app = make().run(INPUT)
    standby = Standby(recorded(topology, app.config, app.log), app.log)
    standby.follow()
    folder = standby.folder
    to(app, 6)
    assert folder.exists()  # it is in use
    with pytest.raises(StartError, match="was rescaled, and has other tasks now"):
        standby.follow()
    standby.close()
    assert local_folders(app.config) == (folder,)
    assert "6 tasks" in str(explain(topology, app.config, *look(app.config)))
    standby = Standby(recorded(topology, app.config, app.log), app.log)
    assert standby.follow().behind == 0
    standby.close()
    app.run([])
    to(app, 2)
    assert not folder.exists()


def test_looking_needs_no_hold(make: Callable[..., Sparkless]) -> None:
    app = make()
    app.start()
    app.feed(*INPUT[:2])
    with stopped(topology, app.config, only_look=True) as found:
        assert plan_rescale(found, 3).total > 0
