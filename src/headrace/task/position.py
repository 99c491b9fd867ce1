"""Which record is being processed right now."""

from __future__ import annotations

from headrace.record import NO_HEADERS, Headers, RecordMetadata
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
    """The time of the record at hand. A host gives `now` to the stores it opens, and the same moment to the task."""

    __slots__ = ("time",)

    def __init__(self) -> None:
        self.time = 0

    def now(self) -> int:
        return self.time
