"""What `KStream.print` writes, and where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


class Printer:
    """Writes each record as a line, to the standard output or to the end of a file.

    >>> Printer("orders")("a", 5)
    [orders]: a, 5
    >>> Printer("orders", lambda key, value: f"{key} has {value}")("a", 5)
    [orders]: a has 5
    """

    def __init__(
        self, label: str, mapper: Callable[[Any, Any], object] | None = None, file: Path | None = None
    ) -> None:
        self._label = label
        self._mapper = mapper
        self._file = file

    def __call__(self, key: object, value: object) -> None:
        shown = f"{key}, {value}" if self._mapper is None else self._mapper(key, value)
        line = f"[{self._label}]: {shown}"
        if self._file is None:
            print(line, flush=True)
            return
        # Opened anew each time: several tasks, in processes that come and go, add to the same file.
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
