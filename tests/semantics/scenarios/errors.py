"""Handlers of the user's own, with dead letters of their own."""

from __future__ import annotations

from typing import Any

from headrace import Answer, DeadLetter, ErrorContext, Response, Serde, StreamsBuilder, StreamsConfig


class Text(Serde[int]):
    """Numbers as decimal text; a fussy one cannot write multiples of 5."""

    def __init__(self, fussy: bool) -> None:
        self.fussy = fussy

    def serialize(self, value: int) -> bytes:
        if self.fussy and value % 5 == 0:
            raise ValueError("a multiple of 5")
        return str(value).encode()

    def deserialize(self, data: bytes) -> int:
        return int(data)


def errors_custom_dead_letters(builder: StreamsBuilder) -> None:
    def divide(value: Any) -> int:
        return 997 // (0 if value is None else int(value % 4))

    def add(key: str, value: int, so_far: int) -> int:
        return so_far + value // (1 if (so_far + value) % 4 else 0)

    stream = builder.stream("in", value=int).map_values(divide, value=int, name="divide")
    stream.to("all", value=Text(True), name="write")
    grouped = stream.group_by(
        lambda k, v: None if k is None else f"{k}{v % 3}", key=str, value=Text(False), name="by"
    )
    sums = grouped.aggregate(lambda: 0, add, value=int, store="sums", name="add")
    sums.to_stream().to("sums", value=Text(True), name="write-sums")


def letter(context: ErrorContext, error: Exception) -> Answer:
    topic, partition, offset = context.metadata or ("", -1, -1)
    place = f"{topic}/{partition}/{offset}"
    headers = (*context.headers, ("node", context.node.encode()), ("place", place.encode()))
    kept = DeadLetter("dead", context.key, context.value, context.timestamp, headers)
    return Answer(Response.CONTINUE, dead_letters=[kept])


SCENARIOS = {"errors_custom_dead_letters": errors_custom_dead_letters}
CONFIGS = {
    "errors_custom_dead_letters": StreamsConfig(
        application_id="oracle",
        default_value=str,
        deserialization_handler=letter,
        processing_handler=letter,
        production_handler=letter,
    )
}
