"""Stateless operators, routing, timestamps and errors."""

from __future__ import annotations

from typing import Any

from semantics.scenarios.common import text

from headrace import Record, StreamsBuilder, StreamsConfig, log_and_continue


def _without_a(value: Any) -> Any:
    return None if value is not None and value.startswith("a") else value


def stateless_chain(builder: StreamsBuilder) -> None:
    stream = builder.stream("in", value=str)
    kept = (
        stream.filter(lambda k, v: v is not None)
        .filter_not(lambda k, v: v.startswith("x"))
        .map_values(lambda v: v.upper(), value=str)
        .peek(lambda k, v: None)
    )
    (
        kept.map(lambda k, v: (text(k) + ":" + v[0], v), key=str, value=str)
        .flat_map(lambda k, v: [(f"{k}#{i}", f"{v}{i}") for i in range(int(v[1]) % 3)], key=str, value=str)
        .flat_map_values(lambda v: [v, v[::-1]], value=str)
        .select_key(lambda k, v: f"{v[0]}/{k}", key=str)
        .to("out")
    )
    kept.map_values(lambda k, v: f"{text(k)}={v}", with_key=True, value=str).to("out2")
    stream.map_values(_without_a, value=str).to("out3")


def stateless_split_merge(builder: StreamsBuilder) -> None:
    stream = builder.stream("in", value=str)
    branches = (
        stream.split(name="br-")
        .branch(lambda k, v: v is None, name="nulls")
        .branch(lambda k, v: int(v[1]) % 2 == 0, name="even")
        .branch(lambda k, v: v[0] == "a")
        .default_branch(name="rest")
    )
    even = branches["br-even"].map_values(lambda v: "even:" + v, value=str)
    branches["br-3"].to("out-a")
    nulls = branches["br-nulls"].map_values(lambda v: "NULL", value=str)
    nulls.merge(even).merge(branches["br-rest"]).to("merged")
    branches["br-rest"].to("rest")
    second = stream.split().branch(lambda k, v: v is not None and v[0] == "b").no_default_branch()
    next(iter(second.values())).to("only-b")


def merge_two_topics(builder: StreamsBuilder) -> None:
    left = builder.stream("a", value=str).map_values(lambda v: "a-" + text(v), value=str)
    right = builder.stream("b", value=str).map_values(lambda v: "b-" + text(v), value=str)
    left.merge(right).to("out")


class Extractor:
    def __call__(self, key: str | None, value: str | None, metadata: Any) -> str:
        return "out-vowel" if key in ("A", "E") else "out-other"

    def __repr__(self) -> str:
        return "EXTRACTOR"


def topic_routing_by_key(builder: StreamsBuilder) -> None:
    builder.stream("in", value=str).to(Extractor())


def timestamp_extractor(builder: StreamsBuilder) -> None:
    def extract(record: Record[str, str | None], partition_time: int) -> int:
        if record.value is None:
            return partition_time
        number = int(record.value[1:])
        return -1 if number % 10 == 7 else number

    stream = builder.stream("in", value=str, timestamp_extractor=extract)
    stream.map_values(text, value=str).group_by_key().count(store="counts").to_stream().to("out")


def errors_continue_dead_letters(builder: StreamsBuilder) -> None:
    stream = builder.stream("in", value=int)
    stream.map_values(lambda v: 0 if v is None else v % 10, value=int).to("first")
    stream.filter(lambda k, v: v is not None).map_values(lambda v: 1000 // (v % 4), value=int).to("second")
    stream.map_values(lambda v: -1 if v is None else v, value=int).to("third")


SCENARIOS = {
    "stateless_chain": stateless_chain,
    "stateless_split_merge": stateless_split_merge,
    "merge_two_topics": merge_two_topics,
    "topic_routing_by_key": topic_routing_by_key,
    "timestamp_extractor": timestamp_extractor,
    "errors_continue_dead_letters": errors_continue_dead_letters,
}

CONFIGS = {
    "errors_continue_dead_letters": StreamsConfig(
        application_id="oracle",
        default_value=str,
        deserialization_handler=log_and_continue,
        processing_handler=log_and_continue,
        dead_letter_topic="dead",
    )
}
