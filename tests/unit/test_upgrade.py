"""`headrace.topology.compare`: one test per kind of change, and that its message says what, why and the fix."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from semantics.scenarios import SCENARIOS, topology_of

from headrace import (
    BufferConfig,
    JoinWindows,
    Materialized,
    Processor,
    SessionWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    key_value_store,
    session_store,
    window_store,
)
from headrace.errors import InvalidArgumentError
from headrace.topology import Change, Level, compare, load

GENERATED = "KSTREAM-AGGREGATE-STATE-STORE-0000000001"


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def built(build: Callable[[StreamsBuilder], object], optimization: str = "none") -> Topology:
    builder = StreamsBuilder()
    build(builder)
    return builder.build(optimization=optimization)


def changed(old: Topology, new: Topology) -> Change:
    """The worst change; a file in between changes nothing."""
    found = compare(old, new)
    assert found.changes
    return found.changes[0]


def words(builder: StreamsBuilder) -> Any:
    return builder.stream("words", value=str)


def counted(builder: StreamsBuilder, **options: Any) -> None:
    words(builder).group_by_key().count(**options).to_stream().to("counts")


def test_the_same_topology_is_safe(tmp_path: Path) -> None:
    old, new = built(counted), built(counted)
    assert compare(old, new).changes == ()
    old.save(tmp_path / "old.json")
    assert compare(tmp_path / "old.json", new).is_safe
    assert str(compare(str(tmp_path / "old.json"), load(tmp_path / "old.json"))) == "no difference: safe"


# generated names ---------------------------------------------------------------------------------------------------


def test_an_added_operator_moves_a_generated_name() -> None:
    def filtered(builder: StreamsBuilder) -> None:
        words(builder).filter(lambda key, value: value).group_by_key().count().to_stream().to("counts")

    change = changed(built(counted), built(filtered))
    assert (change.level, change.subject) == (Level.MOVES, f"store `{GENERATED}`")
    assert "is called `KSTREAM-AGGREGATE-STATE-STORE-0000000002` now, and starts empty" in change.message
    assert f"`<application-id>-{GENERATED}-changelog` are orphaned" in change.message
    assert (
        "the name is generated, and something that was added or taken away before it moved" in change.message
    )
    assert change.fix == f'give it the old name, for good: `store="{GENERATED}"`'
    assert change.origin is not None
    assert re.fullmatch(r".*test_upgrade\.py:\d+", change.origin)


def test_the_old_generated_name_given_as_a_name_keeps_the_rows() -> None:
    def filtered(builder: StreamsBuilder) -> None:
        filtered = words(builder).filter(lambda key, value: value)
        filtered.group_by_key().count(store=GENERATED).to_stream().to("counts")

    assert compare(built(counted), built(filtered)).is_safe


def test_a_generated_name_that_was_another_stores_is_worse() -> None:
    """The names move on by one store: rows of one would be read as those of the other."""

    def two(builder: StreamsBuilder, *, more: bool) -> None:
        one, other = builder.stream("one", value=str), builder.stream("other", value=str)
        if more:
            builder.stream("first", value=str).peek(lambda key, value: None).peek(lambda key, value: None)
            builder.stream("second", value=str)
        one.group_by_key().count().to_stream().to("a")
        other.group_by_key().count().to_stream().to("b")

    old, new = built(lambda builder: two(builder, more=False)), built(lambda builder: two(builder, more=True))
    shared = old.stores.keys() & new.stores.keys()
    assert len(shared) == 1
    change = changed(old, new)
    assert change.level is Level.RESET
    assert f"is called `{shared.pop()}` now, and that was another store's name" in change.message
    assert len(compare(old, new).of(Level.MOVES)) == 1


def test_a_new_store_that_takes_an_old_generated_name() -> None:
    def new(builder: StreamsBuilder) -> None:
        builder.stream("other", value=str).group_by_key().count().to_stream().to("o")
        words(builder).group_by_key().count(store="named").to_stream().to("counts")

    found = compare(built(counted), built(new))
    (taken,) = [c for c in found.of(Level.RESET) if "is a new one, but has the name of another" in c.message]
    assert taken.subject == f"store `{GENERATED}`"
    assert "of `KSTREAM-AGGREGATE-0000000002`" in taken.message


def test_naming_a_generated_store_leaves_its_rows_behind() -> None:
    change = changed(built(counted), built(lambda builder: counted(builder, store="per-word")))
    assert change.level is Level.MOVES
    assert "is called `per-word` now, and starts empty" in change.message
    assert change.fix is not None
    assert GENERATED in change.fix


def test_the_stores_of_a_join_are_told_apart() -> None:
    def joined(builder: StreamsBuilder, *, more: bool) -> None:
        left, right = builder.stream("left", value=str), builder.stream("right", value=str)
        if more:
            left = left.filter(lambda key, value: value)
        left.left_join(right, windows=JoinWindows(ms(10)), join=lambda a, b: a, value=str).to("out")

    old, new = built(lambda b: joined(b, more=False)), built(lambda b: joined(b, more=True))
    moved = [c for c in compare(old, new).changes if "is called" in c.message]
    pairs = {
        re.sub(r"\d{10}", "", c.subject[7:-1]): re.sub(r".*`(\S+)` now.*", r"\1", c.message) for c in moved
    }
    assert len(pairs) == 3
    assert all(re.sub(r"\d{10}", "", now) == was for was, now in pairs.items())
    assert all("name the stores of the join" in str(c.fix) for c in moved)


# stores ------------------------------------------------------------------------------------------------------------


def of_store(store: Any) -> Topology:
    topology = Topology().add_source("in", "a", value=str)
    return topology.add_processor("work", Processor, "in", stores=[store])


def test_a_store_that_is_gone_and_one_that_is_new() -> None:
    old = built(lambda builder: counted(builder, store="old"))
    found = compare(old, built(lambda builder: words(builder).to("counts", value=str)))
    assert "its rows stay behind in its changelog, `<application-id>-old-changelog`" in str(found)
    found = compare(built(lambda builder: words(builder).to("counts", value=int)), old)
    assert found.is_safe
    assert "store `old`: is new, and starts empty" in str(found)


def test_another_kind_with_other_bytes() -> None:
    old, new = key_value_store("s", value=str), session_store("s", retention=ms(100), value=str)
    change = changed(of_store(old), of_store(new))
    assert change.level is Level.RESET
    assert "was key_value, is session: its changelog cannot be read as that" in change.message


def test_another_kind_with_the_same_bytes() -> None:
    old = key_value_store("s", value=str)
    change = changed(of_store(old), of_store(key_value_store("s", value=str, timestamped=True)))
    assert change.level is Level.SAFE
    assert "filled anew from its changelog" in change.message


@pytest.mark.parametrize(("key", "value", "part"), [(int, str, "key"), (str, int, "value")])
def test_another_format(key: Any, value: Any, part: str) -> None:
    old = of_store(key_value_store("s", key=str, value=str))
    change = changed(old, of_store(key_value_store("s", key=key, value=value)))
    assert change.level is Level.RESET
    assert f"{part}: was written as string and is read as long: other bytes" in change.message


def test_a_default_that_is_said_now() -> None:
    old = of_store(key_value_store("s"))
    change = changed(old, of_store(key_value_store("s", key=str, value=int)))
    assert change.level is Level.RESET
    assert "value: was written as default and is read as long: the same only if" in change.message


def windows(retention: int, size: int) -> Topology:
    return of_store(window_store("s", size=ms(size), retention=ms(retention), value=str))


def test_retention() -> None:
    longer = changed(windows(100, 10), windows(200, 10))
    assert longer.level is Level.MOVES
    assert "its changelog still forgets after the shorter time" in longer.message
    assert longer.fix == "set `retention.ms` of `<application-id>-s-changelog` to that and a day more"
    shorter = changed(windows(200, 10), windows(100, 10))
    assert shorter.level is Level.SAFE


def test_the_size_of_a_processors_windows() -> None:
    change = changed(windows(100, 10), windows(100, 20))
    assert change.level is Level.RESET
    assert "`size_ms` of its windows was 10, and is 20: old windows in it would have" in change.message


def windowed(windows: Any) -> Topology:
    def build(builder: StreamsBuilder) -> None:
        store: Materialized[str, int] = Materialized("w", retention=ms(10_000))
        words(builder).group_by_key().windowed_by(windows).count(store=store)

    return built(build)


@pytest.mark.parametrize(
    ("old", "new", "level", "told"),
    [
        (
            TimeWindows(ms(100)),
            TimeWindows(ms(200)),
            Level.RESET,
            "`size_ms` of its windows was 100, and is 200",
        ),
        (TimeWindows(ms(100)), TimeWindows(ms(100), advance=ms(50)), Level.MOVES, "`advance_ms`"),
        (SessionWindows(ms(100)), SessionWindows(ms(200)), Level.MOVES, "`gap_ms`"),
    ],
)
def test_other_windows(old: Any, new: Any, level: Level, told: str) -> None:
    change = changed(windowed(old), windowed(new))
    assert change.level is level
    assert told in change.message


def test_the_windows_of_a_join() -> None:
    def joined(builder: StreamsBuilder, after: int) -> None:
        other, within = builder.stream("b", value=str), JoinWindows(ms(10), after=ms(after))
        builder.stream("a", value=str).join(
            other, windows=within, join=lambda a, b: a, value=str, store="j", name="j"
        ).to("o")

    (rule, *stores) = compare(built(lambda b: joined(b, 20)), built(lambda b: joined(b, 10))).changes
    assert {change.level for change in (rule, *stores)} == {Level.SAFE}
    assert rule.subject == "node `j-this-join`"
    assert rule.message == (
        "`windows.after_ms` was 20, and is 10: its state is kept; the new rule holds, also for what waits in it, from "
        "then on, and what came out before is not corrected"
    )
    assert [change.message.split(" ms ")[0] for change in stores] == ["keeps its rows for 20"] * 2


def test_the_changelog_off_and_on() -> None:
    with_log, without = key_value_store("s", value=str), key_value_store("s", value=str, logging=False)
    off = changed(of_store(with_log), of_store(without))
    assert (off.level, off.fix) == (Level.MOVES, "keep `logging=True`")
    on = changed(of_store(without), of_store(with_log))
    assert on.level is Level.MOVES
    assert "which does not have the rows from before" in on.message


def test_settings_of_the_copy_alone() -> None:
    old = of_store(key_value_store("s", value=str))
    assert changed(old, of_store(key_value_store("s", value=str, persistent=False))).level is Level.SAFE
    change = changed(old, of_store(key_value_store("s", value=str, log_config={"segment.ms": "5"})))
    assert change.level is Level.SAFE
    assert "`<application-id>-s-changelog` keeps its settings" in change.message


def test_a_rule_for_how_long_rows_live() -> None:
    change = changed(
        of_store(key_value_store("s", value=str)), of_store(key_value_store("s", value=str, ttl=ms(10)))
    )
    assert change.level is Level.SAFE
    assert (
        "`ttl_ms` was 0, and is 10: rows from before go by it too, by their own timestamps" in change.message
    )


def test_how_long_a_join_waits_while_nothing_comes_is_not_in_its_stores() -> None:
    def joined(builder: StreamsBuilder, idle: timedelta | None) -> None:
        windows = JoinWindows(ms(5), idle=idle)
        words(builder).left_join(builder.stream("more", value=str), windows=windows, join=max).to("out")

    old, new = built(lambda b: joined(b, None)), built(lambda b: joined(b, ms(10)))
    assert compare(old, new).level is Level.SAFE


def suppressed(how: Suppressed) -> Topology:
    windows = TimeWindows(ms(100))
    return built(
        lambda b: (
            words(b).group_by_key().windowed_by(windows).count(store="c").suppress(how).to_stream().to("o")
        )
    )


def graced(grace: timedelta | None) -> Topology:
    def build(builder: StreamsBuilder) -> None:
        table = builder.table("t", value=str, store=Materialized("t", history_retention=ms(1000)))
        words(builder).join(table, join=max, grace=grace, name="j").to("o")

    return built(build)


def filtered(negate: bool) -> Topology:
    def build(builder: StreamsBuilder) -> None:
        stream = words(builder)
        (stream.filter_not if negate else stream.filter)(lambda key, value: value, name="f").to("o")

    return built(build)


def tables(kind: str) -> Topology:
    def build(builder: StreamsBuilder) -> None:
        left, right = builder.table("a", value=str), builder.table("b", value=str)
        getattr(left, kind)(right, join=lambda a, b: a, name="j").to_stream().to("o")

    return built(build)


ROWS = BufferConfig.max_records


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (windowed(TimeWindows(ms(100))), windowed(TimeWindows(ms(100), grace=ms(0))), None),
        (
            windowed(TimeWindows(ms(100), grace=ms(0))),
            windowed(TimeWindows(ms(100), grace=ms(50))),
            "`windows.grace_ms` was 0, and is 50: its state is kept; the new rule holds from then on",
        ),
        (
            suppressed(Suppressed.until_time_limit(ms(5), ROWS(9))),
            suppressed(Suppressed.until_time_limit(ms(7), ROWS(9))),
            "`wait_ms` was 5, and is 7: its state is kept; the new rule holds, also for what waits in it, from then on",
        ),
        (
            suppressed(Suppressed.until_time_limit(ms(5), ROWS(9))),
            suppressed(Suppressed.until_time_limit(ms(5), ROWS(8))),
            "`max_records` was 9, and is 8: its state is kept",
        ),
        (
            suppressed(Suppressed.until_time_limit(ms(5), ROWS(9))),
            suppressed(Suppressed.until_time_limit(ms(5), ROWS(9).shut_down_when_full())),
            "`emits_early` was True, and is False: its state is kept",
        ),
        (graced(ms(5)), graced(ms(7)), "`grace_ms` was 5, and is 7: its state is kept"),
        (filtered(False), filtered(True), "`negate` was False, and is True: its state is kept"),
        (tables("join"), tables("left_join"), "`keeps_this` was False, and is True: its state is kept"),
    ],
)
def test_another_rule_keeps_the_state(old: Topology, new: Topology, told: str | None) -> None:
    found = compare(old, new)
    assert found.is_safe
    rules = [change.message for change in found.changes if "the new rule holds" in change.message]
    assert [rule[: len(told or "")] for rule in rules] == ([] if told is None else [told])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (suppressed(Suppressed.until_time_limit(ms(5), ROWS(9))), windowed(TimeWindows(ms(100)))),
        (graced(ms(5)), graced(None)),
    ],
)
def test_what_waits_in_a_buffer_that_is_gone_never_comes(old: Topology, new: Topology) -> None:
    change = changed(old, new)
    assert change.level is Level.MOVES
    assert "is gone, and what waits in it never comes out" in change.message
    assert change.fix == "let a version with a shorter time to wait send it on first, if it matters"


def test_another_operator_fills_the_store() -> None:
    def reduced(builder: StreamsBuilder) -> None:
        grouped = builder.stream("words", value=int).group_by_key()
        grouped.reduce(lambda a, b: a + b, store="s")

    def summed(builder: StreamsBuilder) -> None:
        grouped = builder.stream("words", value=int).group_by_key()
        grouped.aggregate(int, lambda key, value, so_far: so_far + value, store="s", value=int)

    change = changed(built(reduced), built(summed))
    assert change.level is Level.MOVES
    assert "was filled by StreamReduce, and is by StreamAggregate" in change.message


# tasks -------------------------------------------------------------------------------------------------------------


def test_a_sub_topology_with_another_number() -> None:
    def more(builder: StreamsBuilder) -> None:
        builder.stream("first", value=str).to("copy")
        counted(builder, store="counts")

    old = built(lambda builder: counted(builder, store="counts"))
    change = next(c for c in compare(old, built(more)).changes if c.subject == "sub-topology 0")
    assert change.level is Level.SAFE
    assert "is sub-topology 1 now, and its tasks are 1_0, 1_1 …: `counts` is filled anew" in change.message
    assert "the times that operators remember go with them" in change.message
    assert change.fix == "write what is new behind what was there, so that the numbers stay"

    def behind(builder: StreamsBuilder) -> None:
        counted(builder, store="counts")
        builder.stream("first", value=str).to("copy")

    assert compare(old, built(behind)).is_safe


def test_a_node_that_remembers_under_its_name() -> None:
    def build(builder: StreamsBuilder, *, more: bool) -> None:
        stream = words(builder).peek(lambda key, value: None) if more else words(builder)
        stream.group_by_key().windowed_by(TimeWindows(ms(100))).count(store="w")

    found = compare(built(lambda b: build(b, more=False)), built(lambda b: build(b, more=True)))
    assert found.is_safe
    assert "the time that it remembers under its name begins with the next record" in str(found)
    assert 'fix: name it: `name="..."`' in str(found)


# topics ------------------------------------------------------------------------------------------------------------


def test_topics_that_come_and_go() -> None:
    old = built(lambda builder: builder.stream("a", value=str).to("x"))
    new = built(lambda builder: builder.stream("b", value=str, offset_reset="latest").to("y"))
    found = compare(old, new)
    assert found.is_safe
    told = {change.subject: change.message for change in found.changes}
    assert told["topic `a`"].startswith("is no longer read; the position in it is kept")
    assert told["topic `b`"] == "is new, and read from its end"
    assert (told["topic `x`"], told["topic `y`"]) == ("is no longer written", "is written now")


@pytest.mark.parametrize(
    ("offset_reset", "read"),
    [
        (None, "from its beginning"),
        (timedelta(hours=1), "as `by_duration:PT3600S` says"),
        ("none", "by nobody"),
    ],
)
def test_where_a_new_topic_is_read_from(offset_reset: Any, read: str) -> None:
    old = built(lambda builder: builder.stream("a", value=str))
    new = built(
        lambda builder: (builder.stream("a", value=str), builder.stream("b", offset_reset=offset_reset))
    )
    assert f"is new, and read {read}" in str(compare(old, new))


def test_the_type_of_a_source() -> None:
    change = changed(built(lambda b: b.stream("a", value=str)), built(lambda b: b.stream("a", value=int)))
    assert (change.level, change.subject) == (Level.RESET, "topic `a`")


@dataclass
class Order:
    id: str
    amount: float


@dataclass
class Shorter:
    id: str


def test_what_readers_of_an_output_expect() -> None:
    def written(kind: type) -> Topology:
        return built(lambda b: b.stream("a", value=str).map_values(lambda v: v, value=kind).to("out"))

    change = changed(written(Order), written(Shorter))
    assert (change.level, change.subject) == (Level.BREAKS, "topic `out`")
    assert "the field was removed" in change.message
    assert compare(written(Shorter), written(Order)).level is Level.BREAKS


def test_the_partitions_of_a_repartition() -> None:
    def build(builder: StreamsBuilder, partitions: int | None) -> None:
        words(builder).repartition(name="r", partitions=partitions).group_by_key().count(store="c")

    change = changed(built(lambda b: build(b, 4)), built(lambda b: build(b, 8)))
    assert (change.level, change.subject) == (Level.RESET, "repartition `r-repartition`")
    assert "had 4 partitions, and has 8 partitions: keys would move to other tasks" in change.message
    change = changed(built(lambda b: build(b, None)), built(lambda b: build(b, 8)))
    assert "had as many partitions as what is before it" in change.message


def test_a_repartition_with_another_name() -> None:
    def build(builder: StreamsBuilder, name: str) -> None:
        words(builder).repartition(name=name).group_by_key().count(store="c", name="n")

    found = compare(built(lambda b: build(b, "r")), built(lambda b: build(b, "q")))
    assert found.is_safe
    assert "between two batches nothing is under way in it" in str(found)


def test_a_repartition_in_a_cycle_has_records_under_way() -> None:
    """A table's changes that come back to the sub-topology that they left."""

    def build(builder: StreamsBuilder, name: str) -> None:
        table = builder.table("t", value=str, store="t")
        there = builder.stream("s", value=str).join(table, join=lambda a, b: a, value=str)
        back = there.select_key(lambda key, value: value).repartition(name="there").group_by_key()
        again = back.reduce(lambda a, b: a, store="r").to_stream().select_key(lambda key, value: value)
        again.repartition(name=name).join(table, join=lambda a, b: a, value=str).to("out")

    found = compare(built(lambda b: build(b, "back")), built(lambda b: build(b, "other")))
    (change,) = [change for change in found.changes if change.subject == "repartition `back-repartition`"]
    assert change.level is Level.MOVES
    assert "records that are under way in `<application-id>-back-repartition`" in change.message


def test_global_tables() -> None:
    def build(builder: StreamsBuilder, topic: str, store: str) -> None:
        builder.global_table(topic, value=str, store=store)

    one = built(lambda b: build(b, "a", "g"))
    assert compare(one, built(lambda b: build(b, "b", "g"))).is_safe
    told = str(compare(one, built(lambda b: build(b, "a", "h"))))
    assert "global store `g`: is gone" in told
    assert "global store `h`: is new, and filled from its topic at the start" in told


# optimization ------------------------------------------------------------------------------------------------------


def tables(builder: StreamsBuilder) -> None:
    table = builder.table("users", value=str, store="users")
    words(builder).join(table, join=lambda a, b: a, value=str).to("joined")


def test_a_tables_topic_as_changelog_on_and_off() -> None:
    on = compare(built(tables), built(tables, "all"))
    assert on.is_safe
    assert "the topic `users` is its changelog now: filled anew from it" in str(on)
    assert "optimization: was none, and is `merge.repartition.topics`, `reuse.ktable" in str(on)
    off = changed(built(tables, "all"), built(tables))
    assert (off.level, off.subject) == (Level.RESET, "store `users`")
    assert off.fix == "keep `reuse.ktable.source.topics` in the optimization"


def test_a_self_join_with_one_store_instead_of_two() -> None:
    def build(builder: StreamsBuilder) -> None:
        stream = words(builder)
        stream.join(stream, windows=JoinWindows(ms(10)), join=lambda a, b: a, value=str, store="j").to("out")

    found = compare(built(build), built(build, "all"))
    assert "store `j-other-join-store`: is gone" in str(found)


# files -------------------------------------------------------------------------------------------------------------


def test_a_saved_topology_is_the_same_text_wherever_the_program_is(tmp_path: Path) -> None:
    one = built(counted)
    other = built(counted)
    one.save(tmp_path / "one.json")
    other.save(tmp_path / "other.json")
    text = (tmp_path / "one.json").read_text()
    assert text == (tmp_path / "other.json").read_text()
    assert "test_upgrade" not in text
    assert text.endswith("}\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "cannot be read as a saved topology"),
        ("[]", r"is not a saved topology: write one with `topology.save\(path\)`"),
        ('{"format": "headrace-topology", "version": 99}', "has version 99 of the format"),
    ],
)
def test_a_file_that_is_something_else(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "old.json").write_text(text)
    with pytest.raises(InvalidArgumentError, match=told):
        load(tmp_path / "old.json")


def test_what_cannot_be_compared() -> None:
    with pytest.raises(InvalidArgumentError, match=r"cannot be read as a saved topology"):
        load("nowhere.json")
    with pytest.raises(InvalidArgumentError, match=r"as `old`, got .*: call `builder.build\(\)` first"):
        compare(StreamsBuilder(), Topology())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_topology_can_be_saved_and_is_the_same_when_loaded(name: str, tmp_path: Path) -> None:
    topology_of(name).save(tmp_path / "saved.json")
    assert compare(tmp_path / "saved.json", topology_of(name)).changes == ()


@pytest.mark.parametrize(
    ("table", "fix"),
    [
        (
            lambda counts: counts.suppress(
                Suppressed.until_time_limit(timedelta(1), BufferConfig.unbounded())
            ),
            'name the operator, `suppress(..., name="...")`: it moves once more, and never again',
        ),
        (
            lambda counts: counts.join(counts, on=lambda key, n: key, join=lambda a, b: a),
            'name the operator, `join(..., on=..., name="...")`: it moves once more, and never again',
        ),
    ],
    ids=["suppress", "foreign key"],
)
def test_a_store_that_takes_no_name_is_named_by_its_operator(table: Any, fix: str) -> None:
    def stored(builder: StreamsBuilder, *, more: bool) -> None:
        stream = words(builder)
        if more:
            stream = stream.peek(lambda key, value: None)
        table(stream.group_by_key().count(store="counts")).to_stream().to("out", value=int)

    found = compare(built(lambda b: stored(b, more=False)), built(lambda b: stored(b, more=True)))
    (change,) = [change for change in found.changes if change.subject.startswith("store")]
    assert change.level is Level.MOVES
    assert change.fix == fix
