"""At a start the topology is compared with the one that made the last commit."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import StreamsBuilder, StreamsConfig, TimeWindows, Topology
from headrace.app.upgrading import check_upgrade
from headrace.errors import UpgradeError
from headrace.log import Publication
from headrace.log.commits import TOPOLOGY
from headrace.log.embedded import EmbeddedLog

CONFIG = StreamsConfig(application_id="app")


@dataclass
class Order:
    customer: str
    amount: float


def shop(
    *, filtered: bool = False, store: str | None = "totals", value: Any = Order, more: tuple[str, ...] = ()
) -> Topology:
    builder = StreamsBuilder()
    orders = builder.stream("orders", value=value)
    if filtered:
        orders = orders.filter(lambda key, order: order is not None)
    orders.group_by(lambda key, order: order.customer).count(store=store).to_stream().to("counts")
    for topic in more:
        builder.stream(topic, value=str).to("more")
    return builder.build()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EmbeddedLog]:
    with EmbeddedLog(tmp_path) as log:
        yield log


def commit(log: EmbeddedLog, topology: Topology, config: StreamsConfig = CONFIG, **options: bool) -> bool:
    """A start and its first commit; whether the topology was written."""
    kept = check_upgrade(log, topology, config, **options)
    publisher = log.publisher("app")
    publisher.publish(Publication([], [], {}, lambda ends: b"1", kept))
    publisher.close()
    return bool(kept)


def test_the_topology_is_written_once(log: EmbeddedLog, caplog: pytest.LogCaptureFixture) -> None:
    assert commit(log, shop())
    assert not commit(log, shop())
    kept = log.committed("app", TOPOLOGY)
    assert kept is not None
    assert json.loads(kept)["format"] == "headrace-topology"
    assert str(Path(__file__).parent) not in kept.decode()
    assert not caplog.records


def test_a_commit_from_before_topologies_were_kept_goes_on(log: EmbeddedLog) -> None:
    publisher = log.publisher("app")
    publisher.publish(Publication([], [], {}, lambda ends: b"1"))
    publisher.close()
    assert commit(log, shop())
    assert log.committed("app", TOPOLOGY) is not None


def test_a_safe_change_is_told_in_one_line_and_kept(
    log: EmbeddedLog, caplog: pytest.LogCaptureFixture
) -> None:
    commit(log, shop())
    with caplog.at_level(logging.WARNING, "headrace"):
        assert commit(log, shop(filtered=True, more=("refunds",)))
    (told,) = caplog.messages
    assert told.startswith("application `app` goes on with another topology than that of its last commit: ")
    assert "topic `refunds` is new, and read from its beginning" in told
    assert "\n" not in told
    assert not commit(log, shop(filtered=True, more=("refunds",)))


def test_where_a_new_topic_begins_is_as_the_settings_say(
    log: EmbeddedLog, caplog: pytest.LogCaptureFixture
) -> None:
    config = StreamsConfig(application_id="app", auto_offset_reset="latest")
    commit(log, shop(), config)
    with caplog.at_level(logging.WARNING, "headrace"):
        commit(log, shop(more=("refunds",)), config)
    assert "topic `refunds` is new, and read from its end" in caplog.messages[0]


def test_a_store_that_is_gone_leaves_its_changelog(
    log: EmbeddedLog, caplog: pytest.LogCaptureFixture
) -> None:
    commit(log, shop())
    builder = StreamsBuilder()
    builder.stream("orders", value=Order).to("all")
    with caplog.at_level(logging.WARNING, "headrace"):
        commit(log, builder.build())
    assert "its rows stay behind in its changelog, `<application-id>-totals-changelog`" in caplog.messages[0]


def test_many_safe_changes_are_still_one_line(log: EmbeddedLog, caplog: pytest.LogCaptureFixture) -> None:
    commit(log, shop())
    with caplog.at_level(logging.WARNING, "headrace"):
        commit(log, shop(more=tuple("abcdef")))
    assert "more, which `headrace check` tells" in caplog.messages[0]


def test_a_generated_name_that_moved_is_refused_with_the_fix_and_the_ways_out(log: EmbeddedLog) -> None:
    commit(log, shop(store=None))
    with pytest.raises(UpgradeError) as raised:
        commit(log, shop(store=None, filtered=True))
    message = raised.value.message
    assert message.startswith("application `app` cannot go on: its state was made by another topology\n")
    assert 'give it the old name, for good: `store="KSTREAM-AGGREGATE-STATE-STORE-0000000002"`' in message
    assert f"(at {__file__}" in message
    for way in ("`headrace reset`", "another `application_id`", "`--accept-changes`"):
        assert way in message
    assert commit(log, shop(store="KSTREAM-AGGREGATE-STATE-STORE-0000000002", filtered=True))


def test_state_can_be_left_behind_if_one_says_so(log: EmbeddedLog, caplog: pytest.LogCaptureFixture) -> None:
    commit(log, shop(store=None))
    with caplog.at_level(logging.WARNING, "headrace"):
        assert commit(log, shop(store=None, filtered=True), accept_changes=True)
    assert "(moves state, and accepted)" in caplog.messages[0]
    assert not commit(log, shop(store=None, filtered=True))


def windowed(size: int) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", value=str).group_by_key()
    stream.windowed_by(TimeWindows(timedelta(seconds=size))).count(store="windows")
    return builder.build()


def other_kind() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=str).group_by_key().count(store="windows")
    return builder.build()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (lambda: windowed(60), lambda: windowed(30), "`size_ms` of its windows was 60000, and is 30000"),
        (lambda: windowed(60), other_kind, "its changelog cannot be read as that"),
        (shop, lambda: shop(value=dict[str, int]), "topic `orders`: value: "),
    ],
    ids=["window size", "kind of store", "type of a source"],
)
def test_what_needs_a_reset_cannot_be_accepted(
    log: EmbeddedLog, old: Callable[[], Topology], new: Callable[[], Topology], why: str
) -> None:
    commit(log, old())
    with pytest.raises(UpgradeError) as raised:
        commit(log, new(), accept_changes=True)
    assert why in raised.value.message
    assert "headrace reset" in raised.value.message
    assert "--accept-changes" not in raised.value.message


def test_another_default_in_the_configuration_is_another_format(log: EmbeddedLog) -> None:
    def build() -> Topology:
        builder = StreamsBuilder()
        builder.table("in", store="rows")
        return builder.build()

    commit(log, build(), StreamsConfig(application_id="app", default_value=str))
    assert not commit(log, build(), StreamsConfig(application_id="app", default_value=str))
    with pytest.raises(UpgradeError, match="was written as string and is read as long"):
        commit(log, build(), StreamsConfig(application_id="app", default_value=int))


def test_a_topology_that_a_newer_version_kept_is_refused(log: EmbeddedLog) -> None:
    publisher = log.publisher("app")
    newer = json.dumps({"format": "headrace-topology", "version": 99}).encode()
    publisher.publish(Publication([], [], {}, lambda ends: b"1", {TOPOLOGY: newer}))
    publisher.close()
    with pytest.raises(UpgradeError, match="version 99 of the format"):
        commit(log, shop())
