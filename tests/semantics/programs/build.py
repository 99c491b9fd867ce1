"""Builds the topology of a program: what `conformance/src/Program.java` does in Java."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from semantics.programs import functions as f
from semantics.programs.processors import Counting, CountingValues

from headrace import (
    BufferConfig,
    EmitStrategy,
    JoinWindows,
    Materialized,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    key_value_store,
)

Program = Mapping[str, Any]
"""`ops` is a list of operations, each on the results of earlier ones; `inputs` has the kinds of the topics' values."""

TYPES = {"string": str, "long": int}


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


class Building:
    """The results of the operations so far, by their ids."""

    def __init__(self, program: Program, builder: StreamsBuilder) -> None:
        self.inputs, self.builder = program["inputs"], builder
        self.made: dict[str, Any] = {}
        for op in program["ops"]:
            OPERATIONS[op["op"]](self, op)

    def keep(self, op: Program, made: Any) -> None:
        self.made[op["id"]] = made

    def input(self, op: Program, number: int = 0) -> Any:
        ids = op["in"]
        return self.made[ids if isinstance(ids, str) else ids[number]]

    def grouped(self, stream: Any, by: str | None) -> Any:
        return stream.group_by_key() if by is None else stream.group_by(f.KEYS[by], key=str)


def build(program: Program, builder: StreamsBuilder) -> None:
    """Add the program's operations to the builder."""
    Building(program, builder)


def _store(op: Program) -> Any:
    if "retention" in op:
        return Materialized(op.get("store"), retention=ms(op["retention"]))
    if "history" in op:
        return Materialized(op["store"], history_retention=ms(op["history"]))
    return op.get("store")


def _stream(b: Building, op: Program) -> None:
    b.keep(op, b.builder.stream(op["topics"], value=TYPES[b.inputs[op["topics"][0]]]))


def _source(kind: str) -> Callable[[Building, Program], None]:
    def add(b: Building, op: Program) -> None:
        make = getattr(b.builder, kind)
        b.keep(op, make(op["topic"], value=TYPES[b.inputs[op["topic"]]], store=_store(op)))

    return add


def _filter(b: Building, op: Program) -> None:
    extra = {"store": op["store"]} if "store" in op else {}
    method = op["op"].removeprefix("table_")
    b.keep(op, getattr(b.input(op), method)(f.PREDICATES[op["fn"]], **extra))


def _map_values(b: Building, op: Program) -> None:
    extra = {"store": op["store"]} if "store" in op else {}
    value = int if op["fn"] == "length" else str
    b.keep(op, b.input(op).map_values(f.VALUES[op["fn"]], with_key=True, value=value, **extra))


def _flat_map_values(b: Building, op: Program) -> None:
    b.keep(op, b.input(op).flat_map_values(f.values, value=str))


def _select_key(b: Building, op: Program) -> None:
    b.keep(op, b.input(op).select_key(f.KEYS[op["fn"]], key=str))


def _map(b: Building, op: Program) -> None:
    def mapped(key: Any, value: Any) -> tuple[Any, Any]:
        return f.KEYS[op["fn"]](key, value), f.VALUES["mark"](key, value)

    b.keep(op, b.input(op).map(mapped, key=str, value=str))


def _flat_map(b: Building, op: Program) -> None:
    b.keep(op, b.input(op).flat_map(f.pairs, key=str, value=str))


def _peek(b: Building, op: Program) -> None:
    b.keep(op, b.input(op).peek(lambda key, value: None))


def _merge(b: Building, op: Program) -> None:
    b.keep(op, b.input(op).merge(b.input(op, 1)))


def _split(b: Building, op: Program) -> None:
    branched = b.input(op).split(name=op["prefix"])
    for number, name in enumerate(op["fns"]):
        branched = branched.branch(f.PREDICATES[name], name=f"b{number}")
    made = branched.default_branch(name="rest") if op["rest"] else branched.no_default_branch()
    for name in op["ids"]:
        branch = "rest" if name.endswith("rest") else f"b{name[-1]}"
        b.made[name] = made[op["prefix"] + branch]


def _repartition(b: Building, op: Program) -> None:
    b.keep(op, b.input(op).repartition(name=op.get("name")))


def _to_table(b: Building, op: Program) -> None:
    b.keep(op, b.input(op).to_table(store=op.get("store")))


def _to(b: Building, op: Program) -> None:
    b.input(op).to(op["topic"])


def _windows(given: list[Any]) -> Any:
    match given:
        case ["session", gap, grace]:
            return SessionWindows(ms(gap), grace=ms(grace))
        case ["sliding", difference, grace]:
            return SlidingWindows(ms(difference), grace=ms(grace))
        case ["time", size, advance, grace]:
            return TimeWindows(ms(size), advance=ms(advance), grace=ms(grace))
    raise ValueError(given)


def _aggregate(b: Building, op: Program) -> None:
    grouped, windows = b.grouped(b.input(op), op.get("by")), op.get("windows")
    if windows is not None:
        grouped = grouped.windowed_by(_windows(windows))
        if op.get("close"):
            grouped = grouped.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    store = _store(op)
    merger = (f.merged,) if windows is not None and windows[0] == "session" else ()
    match op["how"]:
        case "count":
            table = grouped.count(store=store)
        case "reduce":
            table = grouped.reduce(f.reduced, store=store)
        case "reduce_null":
            table = grouped.reduce(f.reduced_or_none, store=store)
        case "aggregate":
            table = grouped.aggregate(str, f.aggregated, *merger, value=str, store=store)
        case "aggregate_null":
            table = grouped.aggregate(str, f.aggregated_or_none, *merger, value=str, store=store)
    b.keep(op, table)


def _cogroup(b: Building, op: Program) -> None:
    first, *others = [b.grouped(b.made[name], by) for name, by in zip(op["in"], op["by"], strict=True)]
    grouped = first.cogroup(f.aggregated, value=str)
    for other in others:
        grouped = grouped.cogroup(other, f.aggregated_or_none)
    windows = op.get("windows")
    if windows is not None:
        grouped = grouped.windowed_by(_windows(windows))
    merger = (f.merged,) if windows is not None and windows[0] == "session" else ()
    b.keep(op, grouped.aggregate(str, *merger, store=_store(op)))


METHODS = {"inner": "join", "left": "left_join", "outer": "outer_join"}


def _stream_join(b: Building, op: Program) -> None:
    join = getattr(b.input(op), METHODS[op["kind"]])
    windows = JoinWindows(before=ms(op["before"]), after=ms(op["after"]), grace=ms(op["grace"]))
    joiner = f.JOINERS[op["fn"]]
    b.keep(
        op,
        join(b.input(op, 1), windows=windows, join=joiner, with_key=True, value=str, name=op.get("name")),
    )


def _table_lookup(b: Building, op: Program) -> None:
    join = getattr(b.input(op), METHODS[op["kind"]])
    extra = {"grace": ms(op["grace"])} if "grace" in op else {}
    joiner = f.JOINERS[op["fn"]]
    b.keep(op, join(b.input(op, 1), join=joiner, with_key=True, value=str, name=op.get("name"), **extra))


def _global_lookup(b: Building, op: Program) -> None:
    join = getattr(b.input(op), METHODS[op["kind"]])
    joiner, on = f.JOINERS[op["fn"]], f.KEYS[op["on"]]
    b.keep(op, join(b.input(op, 1), on=on, join=joiner, with_key=True, value=str))


def _to_stream(b: Building, op: Program) -> None:
    table = b.input(op)
    b.keep(op, table.to_stream(f.KEYS[op["fn"]], key=str) if "fn" in op else table.to_stream())


def _table_join(b: Building, op: Program) -> None:
    joiner = f.JOINERS[op["fn"]]
    join = getattr(b.input(op), METHODS[op["kind"]])
    b.keep(
        op,
        join(
            b.input(op, 1),
            join=lambda left, right: joiner(None, left, right),
            value=str,
            store=op.get("store"),
        ),
    )


def _table_group(b: Building, op: Program) -> None:
    by, store = f.KEYS[op["by"]], op.get("store")
    value = TYPES[op["value"]]
    grouped = b.input(op).group_by(lambda key, value: (by(key, value), value), key=str, value=value)
    match op["how"]:
        case "count":
            table = grouped.count(store=store)
        case "reduce":
            table = grouped.reduce(f.reduced, f.subtracted, store=store)
        case "aggregate":
            table = grouped.aggregate(str, f.aggregated, f.removed, value=str, store=store)
    b.keep(op, table)


def _suppress(b: Building, op: Program) -> None:
    until = Suppressed.until_window_closes()
    if "wait" in op:
        most = op.get("most")
        unbounded = BufferConfig.unbounded()
        buffer = unbounded if most is None else BufferConfig.max_records(most).emit_early_when_full()
        until = Suppressed.until_time_limit(ms(op["wait"]), buffer)
    b.keep(op, b.input(op).suppress(until))


def _foreign_join(b: Building, op: Program) -> None:
    joiner, on = f.JOINERS[op["fn"]], f.KEYS[op["on"]]
    join = getattr(b.input(op), METHODS[op["kind"]])
    b.keep(
        op,
        join(
            b.input(op, 1),
            on=on,
            join=lambda left, right: joiner(None, left, right),
            value=str,
            store=Materialized(op.get("store")),
        ),
    )


def _process(b: Building, op: Program) -> None:
    b.builder.add_state_store(key_value_store(op["store"], key=str, value=int))
    made = partial(Counting, op["store"], op.get("every"))
    b.keep(op, b.input(op).process(made, stores=[op["store"]], key=str, value=str))


def _process_values(b: Building, op: Program) -> None:
    b.builder.add_state_store(key_value_store(op["store"], key=str, value=int))
    made = partial(CountingValues, op["store"])
    b.keep(op, b.input(op).process_values(made, stores=[op["store"]], value=str))


OPERATIONS: dict[str, Callable[[Building, Program], None]] = {
    "stream": _stream,
    "table": _source("table"),
    "global_table": _source("global_table"),
    "filter": _filter,
    "filter_not": _filter,
    "table_filter": _filter,
    "table_filter_not": _filter,
    "map_values": _map_values,
    "table_map_values": _map_values,
    "flat_map_values": _flat_map_values,
    "select_key": _select_key,
    "map": _map,
    "flat_map": _flat_map,
    "peek": _peek,
    "merge": _merge,
    "split": _split,
    "repartition": _repartition,
    "to_table": _to_table,
    "to": _to,
    "aggregate": _aggregate,
    "cogroup": _cogroup,
    "stream_join": _stream_join,
    "table_lookup": _table_lookup,
    "global_lookup": _global_lookup,
    "to_stream": _to_stream,
    "table_join": _table_join,
    "table_group": _table_group,
    "suppress": _suppress,
    "foreign_join": _foreign_join,
    "process": _process,
    "process_values": _process_values,
}
