"""Settings: each is checked when it is given, and says what it must be."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import StreamsBuilder, StreamsConfig, TimeWindows
from headrace.app.topics import changelog_config
from headrace.errors import ConfigError
from headrace.testing import TopologyTestDriver

WRONG: list[tuple[str, Any, str]] = [
    ("commit_interval", 5, "a timedelta of zero or more, got 5"),
    ("commit_interval", timedelta(seconds=-1), "a timedelta of zero or more"),
    ("statestore_cache_max_bytes", -1, "a number of bytes, 0 for no cache, or None, got -1"),
    ("statestore_cache_max_bytes", True, "a number of bytes"),
    ("auto_offset_reset", "first", '"earliest", "latest", "none", or a timedelta of how far to go back'),
    ("default_timestamp_extractor", "record", "a function of a record and the time of its partition"),
    ("processing_handler", None, "a function, got None"),
    ("production_retries", -1, "a number of zero or more"),
    ("default_partitions", 0, "a number of one or more"),
    ("max_batch_records", 1.5, "a number of one or more"),
    ("replication_factor", 0, "-1 or a number of one or more"),
    ("kafka", {"linger.ms": 5}, "a mapping from names to texts"),
    ("bootstrap_servers", "", "\"host:port\", or several with commas between, or None, got ''"),
    ("bootstrap_servers", ["a:1", "b:2"], '"host:port", or several with commas between, or None, got'),
    ("master", 4, "a text, or None for this machine, got 4"),
    ("data_dir", None, "a folder, got None"),
    ("state_dir", "", "a folder, or None, got ''"),
    ("dead_letter_topic", "dead letters", "the name of a topic, or None, got 'dead letters'"),
    ("create_topics", "yes", "True, False or None, got 'yes'"),
    ("windowstore_changelog_additional_retention", 1, "a timedelta of zero or more"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG, ids=lambda part: str(part)[:30])
def test_a_wrong_setting_is_named_with_what_it_must_be(name: str, value: Any, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        StreamsConfig(application_id="app", **{name: value})
    assert f"`{name}` must be {message}" in str(raised.value)
    assert "test_config.py" in str(raised.value), "the user's line"


@pytest.mark.parametrize("name", [5, "", "ä", "a/b", "..", "x" * 201])
def test_an_application_has_a_name_that_topics_and_folders_can_have(name: Any) -> None:
    with pytest.raises(ConfigError, match="`application_id` names topics and folders: at most 200 letters"):
        StreamsConfig(application_id=name)


def test_there_are_two_guarantees() -> None:
    for known in ("exactly_once_v2", "at_least_once"):
        assert StreamsConfig(application_id="app", processing_guarantee=known).processing_guarantee == known
    with pytest.raises(
        ConfigError, match='must be "exactly_once_v2" or "at_least_once", got \'exactly_once\''
    ):
        StreamsConfig(application_id="app", processing_guarantee="exactly_once")


def test_generated_names_can_be_refused() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=str).group_by(lambda key, value: value, key=str)
    grouped.count().to_stream().to("out")
    config = StreamsConfig(application_id="app", ensure_explicit_internal_resource_naming=True)
    with pytest.raises(ConfigError, match="these are generated: `KSTREAM-AGGREGATE-STATE-STORE-0000000002`"):
        TopologyTestDriver(builder.build(), config)


def test_names_of_ones_own_are_accepted() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=str).group_by(lambda key, value: value, key=str, name="by-word")
    grouped.count(store="counts").to_stream().to("out")
    config = StreamsConfig(application_id="app", ensure_explicit_internal_resource_naming=True)
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input("in").pipe("k", "v")
        assert driver.output("out").read_key_values() == [("v", 1)]


def test_changelogs_of_windows_are_kept_longer_than_the_store() -> None:
    builder = StreamsBuilder()
    windows = builder.stream("in", value=str).group_by_key().windowed_by(TimeWindows(timedelta(minutes=1)))
    windows.count(store="counts")
    (spec,) = builder.build().stores.values()
    settings = StreamsConfig(
        application_id="app", windowstore_changelog_additional_retention=timedelta(minutes=2)
    )
    assert changelog_config(spec, settings)["retention.ms"] == "180000"
