"""Writes programs by chance. Only what Kafka Streams' types allow: values and keys have kinds, as in Java."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

PREDICATES = ["even_length", "last_below_5", "key_not_b", "present"]
VALUES = {"mark": "string", "some": "string", "keyed": "string", "length": "long"}
KEYS = ["letter", "first", "key"]
JOINERS = ["plus", "plus", "some", "keyed"]
KINDS = ["inner", "left", "outer"]


@dataclass(frozen=True, slots=True)
class Made:
    """The result of an operation: a `stream`, `table` or `global` with kinds of keys and values."""

    id: str
    shape: str
    key: str
    value: str
    readable: bool = True
    """Kafka Streams cannot look into the windows of a cogroup, or behind a suppress, from another operator."""
    versioned: bool = False


@dataclass(slots=True)
class Draft:
    """A program that is being written."""

    random: Random
    inputs: dict[str, str] = field(default_factory=dict)
    ops: list[dict[str, Any]] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    windowed: set[str] = field(default_factory=set)
    """Aggregates over windows that send every update."""
    names: int = 0

    def new(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def perhaps(self, prefix: str, chance: float = 0.5) -> str | None:
        """A name for a store or a node, or none."""
        return self.new(prefix) if self.random.random() < chance else None

    def some(
        self, shape: str, key: str | None = None, value: str | None = None, readable: bool = False
    ) -> Made | None:
        """One of the results so far, of these kinds."""
        found = [
            made
            for made in self.made
            if made.shape == shape
            and key in (None, made.key)
            and value in (None, made.value)
            and (made.readable or not readable)
        ]
        if not found:
            return None
        # What comes late is taken more often, so that chains get long.
        return self.random.choice(found[-3:] if self.random.random() < 0.6 else found)

    def add(self, op: str, made: tuple[str, str, str], *inputs: Made, **arguments: Any) -> Made:
        """Write an operation; `made` is the shape of its result and the kinds of its keys and values."""
        shape, key, value = made
        readable = arguments.get("store") is not None or all(one.readable for one in inputs)
        if op == "cogroup":
            readable = arguments["windows"] is None
        if op == "suppress":
            readable = False
        if shape == "stream":
            readable = True
        versioned = "history" in arguments
        result = Made(self.new(shape[0]), shape, key, value, readable, versioned)
        ids = [one.id for one in inputs]
        self.used.update(ids)
        if op in ("aggregate", "cogroup") and arguments["windows"] and not arguments.get("close"):
            self.windowed.add(result.id)
        written: dict[str, Any] = {"id": result.id, "op": op}
        if ids:
            written["in"] = ids[0] if len(ids) == 1 and op != "cogroup" else ids
        self.ops.append(
            {**written, **{name: given for name, given in arguments.items() if given is not None}}
        )
        self.made.append(result)
        return result

    def topic(self) -> str:
        topic = "abcdefghij"[len(self.inputs)]
        self.inputs[topic] = self.random.choice(["string", "string", "long"])
        return topic


# sources -------------------------------------------------------------------------------------------------------------


def stream(draft: Draft) -> None:
    topic = draft.topic()
    draft.add("stream", ("stream", "string", draft.inputs[topic]), topics=[topic])


def same_topics(draft: Draft) -> None:
    """Another stream of a topic that is read already."""
    topics = draft.random.choice([op["topics"] for op in draft.ops if op["op"] == "stream"])
    draft.add("stream", ("stream", "string", draft.inputs[topics[0]]), topics=topics)


def several_topics(draft: Draft) -> None:
    one, other = draft.topic(), draft.topic()
    draft.inputs[other] = draft.inputs[one]
    draft.add("stream", ("stream", "string", draft.inputs[one]), topics=[one, other])


def table(draft: Draft) -> None:
    topic = draft.topic()
    draft.add("table", ("table", "string", draft.inputs[topic]), topic=topic, store=draft.perhaps("store"))


def versioned_table(draft: Draft) -> None:
    topic = draft.topic()
    made = ("table", "string", draft.inputs[topic])
    draft.add(
        "table", made, topic=topic, store=draft.new("store"), history=draft.random.choice([20, 100, 300])
    )


def global_table(draft: Draft) -> None:
    topic = draft.topic()
    made = ("global", "string", draft.inputs[topic])
    draft.add("global_table", made, topic=topic, store=draft.perhaps("store"))


SOURCES = (
    [stream] * 5 + [table] * 4 + [versioned_table, versioned_table, global_table, same_topics, several_topics]
)


def source(draft: Draft) -> None:
    if len(draft.inputs) < 6:
        draft.random.choice(SOURCES)(draft)


# streams -------------------------------------------------------------------------------------------------------------


def stateless(op: str) -> Callable[[Draft, Made], None]:
    """An operator that leaves the kinds as they are."""

    def add(draft: Draft, on: Made) -> None:
        fn = draft.random.choice(PREDICATES) if "filter" in op else None
        draft.add(op, ("stream", on.key, on.value), on, fn=fn)

    return add


def map_values(draft: Draft, on: Made) -> None:
    fn = draft.random.choice(list(VALUES))
    draft.add("map_values", ("stream", on.key, VALUES[fn]), on, fn=fn)


def flat_map_values(draft: Draft, on: Made) -> None:
    draft.add("flat_map_values", ("stream", on.key, "string"), on)


def select_key(draft: Draft, on: Made) -> None:
    draft.add("select_key", ("stream", "string", on.value), on, fn=draft.random.choice(KEYS))


def map_both(draft: Draft, on: Made) -> None:
    draft.add("map", ("stream", "string", "string"), on, fn=draft.random.choice(KEYS))


def flat_map(draft: Draft, on: Made) -> None:
    draft.add("flat_map", ("stream", "string", "string"), on)


def merge(draft: Draft, on: Made) -> None:
    other = draft.some("stream", on.key, on.value)
    if other is not None:
        draft.add("merge", ("stream", on.key, on.value), on, other)


def split(draft: Draft, on: Made) -> None:
    fns = draft.random.sample(PREDICATES, 2)
    rest = draft.random.random() < 0.5
    prefix = draft.new("split") + "-"
    branches = ["0", "1", *(["rest"] if rest else [])]
    made = [Made(f"{prefix}{branch}", "stream", on.key, on.value, on.readable) for branch in branches]
    ids = [one.id for one in made]
    draft.ops.append({"op": "split", "in": on.id, "prefix": prefix, "fns": fns, "rest": rest, "ids": ids})
    draft.used.add(on.id)
    draft.made += made


def repartition(draft: Draft, on: Made) -> None:
    draft.add("repartition", ("stream", on.key, on.value), on, name=draft.perhaps("rep"))


def to_table(draft: Draft, on: Made) -> None:
    draft.add("to_table", ("table", on.key, on.value), on, store=draft.perhaps("store"))


def windows(random: Random) -> list[Any] | None:
    size, grace = random.choice([5, 20, 50, 100]), random.choice([0, 3, 20, 60])
    match random.choice(["none", "none", "time", "time", "hopping", "sliding", "session"]):
        case "time":
            return ["time", size, size, grace]
        case "hopping":
            return ["time", size, max(1, size * random.choice([2, 3, 5]) // 10), grace]
        case "sliding":
            return ["sliding", size, grace]
        case "session":
            return ["session", random.choice([3, 10, 30, 40]), grace]
    return None


def _windowed(given: list[Any] | None, key: str) -> str:
    """The kind of the keys of an aggregate."""
    return key if given is None else "session" if given[0] == "session" else str(given[1])


def aggregate(draft: Draft, on: Made) -> None:
    random = draft.random
    by = None if random.random() < 0.5 else random.choice(KEYS)
    key = on.key if by is None else "string"
    given = windows(random) if key == "string" else None
    how = random.choice(
        ["count", "count", "reduce", "reduce_null", "aggregate", "aggregate", "aggregate_null"]
    )
    value = "long" if how == "count" else on.value if how.startswith("reduce") else "string"
    draft.add(
        "aggregate",
        ("table", _windowed(given, key), value),
        on,
        by=by,
        windows=given,
        how=how,
        close=True if given and random.random() < 0.25 else None,
        retention=100_000 if given and random.random() < 0.3 else None,
        store=draft.perhaps("store"),
    )


def cogroup(draft: Draft, on: Made) -> None:
    random = draft.random
    others = [draft.some("stream") for _ in range(random.randint(0, 2))]
    streams = [on, *(other for other in others if other is not None)]
    by = [random.choice(KEYS) if one.key != "string" or random.random() < 0.4 else None for one in streams]
    given = windows(random)
    made = ("table", _windowed(given, "string"), "string")
    draft.add("cogroup", made, *streams, by=by, windows=given, store=draft.perhaps("store"))


def stream_join(draft: Draft, on: Made) -> None:
    random = draft.random
    other = draft.some("stream", on.key)
    if other is None:
        return
    before, after = random.choice([(50, 50), (20, 20), (20, 80), (0, 40), (60, 0), (-10, 50), (3, 3)])
    draft.add(
        "stream_join",
        ("stream", on.key, "string"),
        on,
        other,
        kind=random.choice(KINDS),
        before=before,
        after=after,
        grace=random.choice([0, 5, 40]),
        fn=random.choice(JOINERS),
        name=draft.perhaps("named", 0.3),
    )


def table_lookup(draft: Draft, on: Made) -> None:
    random = draft.random
    found = draft.some("table", on.key, readable=True)
    if found is not None:
        kind, fn, name = random.choice(KINDS[:2]), random.choice(JOINERS), draft.perhaps("named", 0.2)
        # With a grace Kafka Streams fails at a null key in a left join.
        waits = found.versioned and kind == "inner" and random.random() < 0.5
        grace = random.choice([5, 15]) if waits else None
        made = ("stream", on.key, "string")
        draft.add("table_lookup", made, on, found, kind=kind, fn=fn, name=name, grace=grace)


def global_lookup(draft: Draft, on: Made) -> None:
    random = draft.random
    found = draft.some("global")
    if found is not None:
        kind, fn, by = random.choice(KINDS[:2]), random.choice(JOINERS), random.choice(KEYS)
        draft.add("global_lookup", ("stream", on.key, "string"), on, found, kind=kind, fn=fn, on=by)


def process(draft: Draft, on: Made) -> None:
    if on.key == "string":
        every = draft.random.choice([None, ["stream", 30], ["wall", 50]])
        draft.add("process", ("stream", "string", "string"), on, store=draft.new("store"), every=every)


def process_values(draft: Draft, on: Made) -> None:
    draft.add("process_values", ("stream", on.key, "string"), on, store=draft.new("store"))


ON_STREAM: list[Callable[[Draft, Made], None]] = [
    *(stateless("filter"), stateless("filter_not"), stateless("peek"), map_values, flat_map_values),
    *(select_key, map_both, flat_map, merge, split, repartition, to_table),
    *([aggregate] * 6 + [cogroup] * 2 + [stream_join] * 4 + [table_lookup] * 4 + [global_lookup]),
    *(process, process_values),
]


# tables --------------------------------------------------------------------------------------------------------------


def table_filter(draft: Draft, on: Made) -> None:
    op, fn = draft.random.choice(["table_filter", "table_filter_not"]), draft.random.choice(PREDICATES)
    draft.add(op, ("table", on.key, on.value), on, fn=fn, store=draft.perhaps("store", 0.3))


def table_map_values(draft: Draft, on: Made) -> None:
    fn = draft.random.choice(list(VALUES))
    # Kafka Streams forgets how values are written where a table has no store, and takes the default, which is text.
    store = draft.new("store") if VALUES[fn] == "long" else draft.perhaps("store", 0.3)
    draft.add("table_map_values", ("table", on.key, VALUES[fn]), on, fn=fn, store=store)


def to_stream(draft: Draft, on: Made) -> None:
    fn = draft.random.choice(KEYS) if draft.random.random() < 0.3 else None
    draft.add("to_stream", ("stream", on.key if fn is None else "string", on.value), on, fn=fn)


def table_join(draft: Draft, on: Made) -> None:
    random = draft.random
    other = draft.some("table", on.key, readable=True)
    if other is not None and on.readable:
        kind, fn, store = (
            random.choice(KINDS),
            random.choice(["plus", "plus", "some"]),
            draft.perhaps("store", 0.3),
        )
        draft.add("table_join", ("table", on.key, "string"), on, other, kind=kind, fn=fn, store=store)


def table_group(draft: Draft, on: Made) -> None:
    how, by = draft.random.choice(["count", "reduce", "aggregate"]), draft.random.choice(KEYS)
    value = {"count": "long", "reduce": on.value}.get(how, "string")
    store = draft.perhaps("store")
    draft.add("table_group", ("table", "string", value), on, by=by, how=how, value=on.value, store=store)


def suppress(draft: Draft, on: Made) -> None:
    if on.versioned:
        return
    limits = {"wait": draft.random.choice([0, 10, 60]), "most": draft.random.choice([None, 1, 3])}
    # Only for what an aggregate has put into windows.
    closes = on.id in draft.windowed and draft.random.random() < 0.6
    draft.add("suppress", ("table", on.key, on.value), on, **({} if closes else limits))


def foreign_join(draft: Draft, on: Made) -> None:
    random = draft.random
    other = draft.some("table", "string", readable=True)
    if other is not None and on.readable and on.key == "string":
        kind, fn, by = (
            random.choice(KINDS[:2]),
            random.choice(["plus", "plus", "some"]),
            random.choice(["letter", "first"]),
        )
        store = draft.perhaps("store")
        draft.add(
            "foreign_join", ("table", on.key, "string"), on, other, kind=kind, fn=fn, on=by, store=store
        )


ON_TABLE: list[Callable[[Draft, Made], None]] = [
    *([table_filter] * 4 + [table_map_values] * 2 + [to_stream, table_join, table_group] * 4),
    *([suppress] * 3 + [foreign_join] * 2),
]


# whole programs ------------------------------------------------------------------------------------------------------


def _on(draft: Draft, shape: str, operations: list[Callable[[Draft, Made], None]]) -> None:
    found = draft.some(shape)
    if found is not None:
        draft.random.choice(operations)(draft, found)


def _sinks(draft: Draft) -> None:
    """Everything that is not read by another operation goes to a topic, and some of the rest too."""
    for made in list(draft.made):
        if made.shape == "global" or (made.id in draft.used and draft.random.random() < 0.7):
            continue
        last = (
            draft.add("to_stream", ("stream", made.key, made.value), made) if made.shape == "table" else made
        )
        draft.ops.append({"op": "to", "in": last.id, "topic": f"out-{last.id}"})


def generate(seed: int, name: str, size: int = 9) -> dict[str, Any]:
    """A program by chance, always the same for a seed."""
    random = Random(seed)
    draft = Draft(random)
    stream(draft)
    for _ in range(random.randint(0, 2)):
        source(draft)
    for _ in range(random.randint(2, size)):
        match random.choices(["stream", "table", "source"], [6, 5, 1]):
            case ["stream"]:
                _on(draft, "stream", ON_STREAM)
            case ["table"]:
                _on(draft, "table", ON_TABLE)
            case _:
                source(draft)
    _sinks(draft)
    return {
        "name": name,
        "inputs": draft.inputs,
        "time": random.choice([[25, 60, 300, 400], [6, 30, 100, 90], [3, 6, 9, 12], [15, 40, 200, 250]]),
        "steps": random.choice([40, 60]),
        "headers": random.random() < 0.5,
        "wall": random.choice([0, 0, 0, 150]),
        "ops": draft.ops,
    }
