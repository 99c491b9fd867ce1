"""Topics that are missing, or are not what they were at the last commit: told before anything starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from headrace import StreamsBuilder, StreamsConfig, Topology
from headrace.app.beginning import base_commit
from headrace.app.topics import prepare_topics
from headrace.errors import HeadraceError, MissingTopicError, OffsetOutOfRangeError, StartError
from headrace.log import Outgoing
from headrace.log.embedded import EmbeddedLog
from headrace.origin import Origin
from headrace.spark.commit import CommitRecord, encode
from headrace.spark.layout import lay_out


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EmbeddedLog]:
    with EmbeddedLog(tmp_path / "log") as opened:
        yield opened


def topology(*, counting: bool = False) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("orders", value=str)  # the source
    if counting:
        stream.group_by_key().count(store="n")
    stream.to("copies")
    return builder.build()


def check_line(error: HeadraceError, node: str = "KSTREAM-SOURCE-0000000000") -> None:
    lines = Path(__file__).read_text().splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if line.endswith("# the source")]
    assert (error.node, error.origin) == (node, Origin(__file__, number))


def test_all_missing_topics_are_named_at_once_with_what_may_be_meant_and_how_to_make_them(
    log: EmbeddedLog,
) -> None:
    log.create_topic("order", 1)
    config = StreamsConfig(application_id="app", create_topics=False, default_partitions=3)
    with pytest.raises(MissingTopicError) as raised:
        prepare_topics(log, topology(), config)
    message = raised.value.message
    assert message.startswith("2 topics do not exist: `orders` (did you mean `order`?; at ")
    assert "`copies` (at " in message
    assert message.endswith(
        "create them with `headrace topics create orders --partitions 3`, "
        "`headrace topics create copies --partitions 3`, or set `create_topics=True`"
    )
    check_line(raised.value)


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, ""),
        ({"data_dir": "here"}, " --data-dir here"),
        ({"bootstrap_servers": "a:1,b:2"}, " --bootstrap-servers a:1,b:2"),
    ],
)
def test_the_command_names_the_log(log: EmbeddedLog, settings: dict[str, str], options: str) -> None:
    log.create_topic("copies", 1)
    config = StreamsConfig(application_id="app", create_topics=False, **settings)  # type: ignore[arg-type]
    with pytest.raises(MissingTopicError) as raised:
        prepare_topics(log, topology(), config)
    assert raised.value.message == (
        f"topic `orders` does not exist; create it with `headrace topics create orders --partitions 4{options}`, "
        "or set `create_topics=True`"
    )


def begin(log: EmbeddedLog, built: Topology, positions: Sequence[int]) -> CommitRecord:
    """A start after a commit that had read so far in each partition."""
    config = StreamsConfig(application_id="app")
    layout = lay_out(built, "app", log.topics())
    last = CommitRecord("i", 7, 0, {"orders": list(positions)})
    return base_commit(log, built, layout, encode(last), config)


def filled(log: EmbeddedLog, *counts: int) -> None:
    log.create_topic("orders", len(counts))
    for number, count in enumerate(counts):
        log.append([Outgoing("orders", [b"k"] * count, [b"v"] * count, [0] * count, partitions=number)])


@pytest.mark.parametrize(("now", "before"), [((1, 1, 1), (1, 1)), ((1, 1), (1, 1, 1))], ids=["more", "fewer"])
def test_other_partitions_would_take_keys_from_their_state(
    log: EmbeddedLog, now: tuple[int, ...], before: tuple[int, ...]
) -> None:
    filled(log, *now)
    with pytest.raises(
        StartError, match=rf"`orders` now has or needs {len(now)} partitions, and had {len(before)}"
    ) as raised:
        begin(log, topology(counting=True), before)
    check_line(raised.value)


def test_where_nothing_is_kept_a_topic_may_grow(log: EmbeddedLog) -> None:
    filled(log, 5, 5, 5)
    assert begin(log, topology(), (2, 3)).positions == {"orders": [2, 3, 0]}


def test_a_topic_that_was_made_anew_is_not_mistaken_for_the_old_one(log: EmbeddedLog) -> None:
    filled(log, 5, 5)
    with pytest.raises(
        OffsetOutOfRangeError,
        match=r"topic `orders`, partition 1: the next record to read is offset 6, but the topic ends at 5: "
        r"it was deleted and made anew",
    ) as raised:
        begin(log, topology(counting=True), (5, 6))
    check_line(raised.value)
