"""Which record is being processed right now."""

from __future__ import annotations

from headrace.log.base import Chunk
from headrace.record import NO_HEADERS, Headers, RecordMetadata


class Position:
    """A chunk and a row in it: two assignments per record, everything else is looked up when it is asked for.

    Between records, and inside a punctuator, `chunk` is None.
    """

    __slots__ = ("chunk", "row")

    def __init__(self) -> None:
        self.chunk: Chunk | None = None
        self.row = 0

    def metadata(self) -> RecordMetadata | None:
        chunk = self.chunk
        return (
            None if chunk is None else RecordMetadata(chunk.topic, chunk.partition, chunk.offsets[self.row])
        )

    def raw(self) -> tuple[bytes | None, bytes | None]:
        """The key and value as they were in the topic."""
        chunk = self.chunk
        return (None, None) if chunk is None else (chunk.keys[self.row], chunk.values[self.row])

    def timestamp(self) -> int:
        return -1 if self.chunk is None else self.chunk.timestamps[self.row]

    def headers(self) -> Headers:
        chunk = self.chunk
        return NO_HEADERS if chunk is None or chunk.headers is None else chunk.headers[self.row]


class Moment:
    """The time of the record at hand. A host gives `now` to the stores it opens, and the same moment to the task."""

    __slots__ = ("time",)

    def __init__(self) -> None:
        self.time = 0

    def now(self) -> int:
        return self.time
