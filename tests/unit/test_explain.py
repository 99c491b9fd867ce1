"""How a topology runs on Spark, told before it does: as text, as SVG and as Mermaid."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest

from headrace import JoinWindows, StreamsBuilder, StreamsConfig, field_timestamp
from headrace.cli.load import find_topology, load_module
from headrace.log import Publication
from headrace.log.embedded import EmbeddedLog
from headrace.spark.commit import CommitRecord, encode
from headrace.spark.explain import Explanation, explain
from headrace.spark.explain.available import look

EXAMPLES = sorted(
    path
    for path in (Path(__file__).parents[2] / "examples").glob("*.py")
    if "topology = " in path.read_text() and path.stem != "demo"
)


def explained(build: Callable[[StreamsBuilder], object], **topics: int) -> Explanation:
    builder = StreamsBuilder()
    build(builder)
    return explain(builder.build(), StreamsConfig(application_id="app", master="local[2]"), topics)


def counting(builder: StreamsBuilder) -> None:
    words = builder.stream("words", value=str).filter(lambda key, word: bool(word))
    words.group_by(lambda key, word: word).count(store="counts").to_stream().to("counted")


def test_the_whole_text() -> None:
    assert (
        str(explained(counting, words=4, counted=1))
        == """\
app: one Spark query, 1 stage behind the reader, 4 tasks in 2 slots

READ              plans a batch, and reads it from the log
  topic      words                               4 partitions; read by sub-topology 0, here
  sub-topology 0: without state, while reading
    does     filter → select key → drop null keys
    sends    counts-repartition                  to 4 tasks of stage 1, by key

STAGE 1           behind a shuffle by task; 2 slots
  sub-topology 1: tasks 1_0 … 1_3
    does     aggregate → to stream
    reads    counts-repartition                  shuffled by Spark, there is no such topic
    store    counts                              timestamped key value; app-counts-changelog
    writes   counted

COMMIT            one transaction of the log for each batch: all of it, or nothing
  outputs    counted
  changelogs 1 store                             and what each task remembers
  positions  app-commits

SETTINGS          that decide about batches
  log               .headrace/log
  stores            .headrace/state/app
  max_batch_records 250,000; the first batch of a start is smaller
  max_batch_bytes   67,108,864
  small batches     of up to 5,000 records are done by one Spark task, if all stores are on one host
  commit_interval   0 ms
  max_task_idle     0 ms"""
    )


def test_what_is_not_there_yet_is_assumed_and_said_to_be() -> None:
    told = str(explained(counting, words=8))
    assert "8 tasks in 2 slots\n(counted: not looked at or not there yet, partitions are assumed)" in told
    assert "assumed" not in str(explained(counting, words=8, counted=8))


def test_a_foreign_key_join_tells_what_comes_back_in_the_next_batch() -> None:
    def build(builder: StreamsBuilder) -> None:
        left, right = builder.table("l", value=str), builder.table("r", value=str)
        left.join(right, on=lambda key, value: value, join=max, name="fk").to_stream().to("out")

    told = str(explained(build, l=2, r=3, out=1))
    assert "2 stages behind the reader, 5 tasks" in told
    assert re.search(
        r"topic +app-fk-subscription-response-topic +2 partitions; read by sub-topology 0, in stage 1; "
        r"what the batch before sent back",
        told,
    )
    assert re.search(r"reads +fk-subscription-registration-topic +shuffled by Spark", told)
    assert re.search(r"sends +app-fk-subscription-response-topic +2 partitions of the log", told)


def test_a_topic_that_is_written_and_read_and_one_that_is_global() -> None:
    def build(builder: StreamsBuilder) -> None:
        rates = builder.global_table("fx", value=int, store="rates")
        orders = builder.stream("orders", value=int)
        orders.join(rates, on=lambda key, value: key, join=max).to("again")
        builder.stream("again", value=int).group_by_key().count(store="n")

    told = str(explained(build, fx=1, orders=2, again=2))
    assert re.search(
        r"again +2 partitions; .*; the application also writes it, and reads that in the next", told
    )
    assert re.search(r"fx +1 partition; global table `rates`, whole on every host", told)
    picture = explained(build, fx=1, orders=2, again=2).to_mermaid()
    assert picture.count("\u21bb again") == 2


def test_the_order_of_time_is_told() -> None:
    def build(builder: StreamsBuilder) -> None:
        left = builder.stream("l", value=dict, timestamp_extractor=field_timestamp("at"))
        right = builder.stream("r", value=dict)
        left.join(right, join=lambda a, b: a, windows=JoinWindows(timedelta(seconds=1)), value=dict).to("out")

    told = str(explained(build, l=1, r=1, out=1))
    assert told.endswith("is read in the order of time over l, r, which the records of l say themselves")


def test_on_a_cluster_only_the_cluster_knows_its_slots() -> None:
    builder = StreamsBuilder()
    counting(builder)
    config = StreamsConfig(application_id="app", master="spark://host:7077")
    assert "4 tasks in as many slots as the cluster has cores" in str(explain(builder.build(), config))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_picture_of_each_example_shows_all_and_nothing_lies_over_another(path: Path) -> None:
    topology = find_topology(load_module(path))
    told = explain(topology, StreamsConfig(application_id=path.stem))
    root = ElementTree.fromstring(told.to_svg())
    space = "{http://www.w3.org/2000/svg}"
    names = {group.get("data-name") for group in root.iter(f"{space}g")}
    subs = topology.sub_topologies()
    assert {f"Sub-topology {sub.id}" for sub in subs} <= names
    assert {spec.name for sub in subs for spec in sub.stores} <= names
    assert {topic for sub in subs for source in sub.sources for topic in source.topics} <= names
    figure = told._picture().figure()
    things = [shape for shape in figure.shapes if shape.kind != "box"]
    for one, other in itertools.combinations(things, 2):
        apart = (
            one.x + one.width <= other.x
            or other.x + other.width <= one.x
            or one.y + one.height <= other.y
            or other.y + other.height <= one.y
        )
        assert apart, (one.name, other.name)
    for shape in figure.shapes:
        assert shape.x >= 0
        assert shape.x + shape.width <= figure.width
        assert shape.y + shape.height <= figure.height
    assert told.to_mermaid().startswith("flowchart TD\n")


def test_mermaid_has_a_box_for_each_band() -> None:
    told = explained(counting, words=4, counted=1).to_mermaid()
    assert re.findall(r'subgraph band\d\["(.*)"\]', told) == ["Reader", "Stage 1: 2 slots", "Commit"]
    assert '>"shuffle by key<br/>counts-repartition"]' in told
    assert told.count("-->") == 4
    assert told.count("-.-") == 1


def test_only_what_is_there_is_looked_at(tmp_path: Path) -> None:
    config = StreamsConfig(application_id="app", data_dir=str(tmp_path))
    assert look(config) == ({}, None)
    assert list(tmp_path.iterdir()) == []
    with EmbeddedLog(tmp_path / "log") as log:
        log.create_topic("words", 3)
    assert look(config) == ({"words": 3}, None)


def test_a_rescaled_application_has_its_own_number_of_tasks(tmp_path: Path) -> None:
    config = StreamsConfig(application_id="app", data_dir=str(tmp_path), master="local[2]")
    with EmbeddedLog(tmp_path / "log") as log:
        log.create_topic("words", 3)
        log.create_topic("counted", 3)
        publisher = log.publisher("app")
        commit = encode(CommitRecord("i", 1, 0, {"words": [0, 0, 0]}, task_count=8))
        publisher.publish(Publication([], [], {}, lambda ends: commit))
        publisher.close()
    builder = StreamsBuilder()
    counting(builder)
    told = str(explain(builder.build(), config, *look(config)))
    assert "8 tasks in 2 slots\n(rescaled: a record goes to the task of its key" in told


def test_the_command(tmp_path: Path) -> None:
    """In a process of its own: Spark is not imported for it."""
    (tmp_path / "app.py").write_text(
        "import sys\n"
        "from headrace import StreamsBuilder\n"
        "builder = StreamsBuilder()\n"
        'builder.stream("words", value=str).group_by_key().count(store="n")\n'
        "topology = builder.build()\n"
        'assert "pyspark" not in sys.modules\n'
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "headrace.cli.main", "explain", "app.py", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert "3 tasks" in run("--partitions", "words=3").stdout
    assert run("--mermaid").stdout.startswith("flowchart TD")
    assert run("--svg", "plan.svg").stdout == ""
    assert (tmp_path / "plan.svg").read_text().startswith("<svg")
    wrong = run("--partitions", "words=many")
    assert (wrong.returncode, wrong.stderr) == (
        1,
        "headrace: `--partitions` takes TOPIC=NUMBER, got words='many'\n",
    )
