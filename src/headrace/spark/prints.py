"""What users print in the workers (`print` in a function, `KStream.print`) travels to the driver with its batch.

So it comes out on the terminal of whoever started the application, whichever host the task ran on, and once: the
driver shows it when the batch is committed, or has failed.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import TextIO

import msgspec

from headrace.record import RecordMetadata, TaskId
from headrace.spark.commit import encodable, encode
from headrace.spark.rows import DRIVER, Row

LIMIT = 1_000_000
"""Characters that a task may print in one batch: more would only be in the way of the records."""


class Line(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """One line, and the record at which it was printed; none inside a punctuator."""

    text: str
    topic: str = ""
    partition: int = -1
    offset: int = -1


class Prints(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a task has printed in one batch.

    >>> prints = Prints("0_1", [Line("hello", "orders", 1, 17), Line("tick")], more=2)
    >>> print(prints)
    0_1 orders-1@17 | hello
    0_1 | tick
    0_1 | … and 2 lines more in this batch
    """

    task: str
    lines: list[Line]
    more: int = 0
    """Lines beyond the limit."""

    def __str__(self) -> str:
        shown = [
            f"{self.task}{f' {line.topic}-{line.partition}@{line.offset}' if line.topic else ''} | {line.text}"
            for line in self.lines
        ]
        if self.more:
            shown.append(f"{self.task} | … and {self.more:,} line{'s' * (self.more > 1)} more in this batch")
        return "\n".join(shown)


class Capture(io.TextIOBase):
    """Stands in for `sys.stdout` of a worker while it runs a task; who keeps it for longer prints as before."""

    def __init__(self, beside: TextIO) -> None:
        self._beside = beside
        self._task: TaskId | None = None
        self._metadata: Callable[[], RecordMetadata | None] = lambda: None
        self._lines: list[Line] = []
        self._open = ""
        self._size = self._more = 0

    def begin(self, task: TaskId, metadata: Callable[[], RecordMetadata | None]) -> None:
        """From here on, what is printed is this task's; `metadata` says at which record."""
        if sys.stdout is not self:
            self._beside, sys.stdout = sys.stdout, self
        self._task, self._metadata = task, metadata

    def write(self, text: str) -> int:
        if self._task is None:
            return self._beside.write(text)
        *whole, rest = text.split("\n")
        if whole:
            whole[0] = self._open + whole[0]
            self._open = ""
            found = self._metadata()
            for line in whole:
                self._add(line, found)
        self._open += rest
        return len(text)

    def _add(self, text: str, where: RecordMetadata | None) -> None:
        if self._size + len(text) >= LIMIT:
            self._more += 1  # a line that is too long is no reason to leave out those after it
        else:
            self._size += len(text) + 1
            text = encodable(text)
            self._lines.append(Line(text) if where is None else Line(text, *where))

    def flush(self) -> None:
        if self._task is None:
            self._beside.flush()

    def writable(self) -> bool:
        return True

    def row(self, slot: int) -> list[Row]:
        """The end of a task, well or not: a row with what it has printed, if it has."""
        task, self._task = self._task, None
        if sys.stdout is self:
            sys.stdout = self._beside
        if self._open:
            self._add(self._open, None)
        if task is None or not (self._lines or self._more):
            return []
        prints = Prints(str(task), self._lines, self._more)
        self._lines, self._open, self._size, self._more = [], "", 0, 0
        return [Row(slot, DRIVER, "print", task.subtopology, task.partition, "", 0, encode(prints))]


_capture = Capture(sys.stdout)
"""Of this process: it runs one task after the other."""


def capture(task: TaskId, metadata: Callable[[], RecordMetadata | None]) -> None:
    """In a worker: from here on, what is printed is this task's."""
    _capture.begin(task, metadata)


def printed(slot: int) -> list[Row]:
    """In a worker, at the end of a task: a row with what it has printed, if it has."""
    return _capture.row(slot)


def show(prints: list[Prints]) -> None:
    """In the driver: to the terminal, all in one go, so that two applications do not mix. What its encoding does not
    have is spelt out.
    """
    encoding = sys.stdout.encoding or "utf-8"
    text = "\n".join(map(str, prints))
    print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
