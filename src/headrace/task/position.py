"""Which record is being processed right now."""

from __future__ import annotations

from typing import cast

from headrace.record import NO_HEADERS, Headers, RecordMetadata
from headrace.state.cache import Mark
from headrace.task.lanes import OneRow, Rows


class Position:
    """Columns and a row in them: one or two assignments per record, the rest is looked up when it is asked for.

    Between records, and inside a punctuator, `rows` is None.
    """

    __slots__ = ("row", "rows")

    def __init__(self) -> None:
        self.rows: Rows | OneRow | None = None
        self.row = 0

    def metadata(self) -> RecordMetadata | None:
        rows = self.rows
        return None if rows is None else RecordMetadata(rows.topic, *rows.place(self.row))

    def raw(self) -> tuple[bytes | None, bytes | None]:
        """The key and value as they were in the topic."""
        rows = self.rows
        return (None, None) if rows is None else (rows.keys[self.row], rows.values[self.row])

    def timestamp(self) -> int:
        return -1 if self.rows is None else self.rows.timestamps[self.row]

    def headers(self) -> Headers:
        rows = self.rows
        return NO_HEADERS if rows is None or rows.headers is None else rows.headers[self.row]


class Moment:
    """The time of the record at hand. A host gives `now` to the stores it opens, and the same moment to the task.

    Nodes with a cached store set the headers, too, so that a later flush can go back to the record.
    """

    __slots__ = ("headers", "position", "time")

    def __init__(self) -> None:
        self.time = 0
        self.headers: Headers = NO_HEADERS
        self.position = Position()

    def now(self) -> int:
        return self.time

    def mark(self) -> Mark:
        """Where we are, to come back to."""
        position = self.position
        rows = position.rows
        return Mark(self.time, self.headers, "" if rows is None else rows.topic, (rows, position.row))

    def go_to(self, mark: Mark) -> None:
        """Be where we were when the mark was made."""
        self.time, self.headers = mark.time, mark.headers
        self.position.rows, self.position.row = cast("tuple[Rows | None, int]", mark.place)
