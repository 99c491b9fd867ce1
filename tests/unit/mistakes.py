"""One mistake of a user's and the message that it gets: the whole of it, with the node and the user's own line.

The line that an error has to point at ends in `# here`; one that the message names (the other of two nodes of one
name) ends in `# before`, and is `{before}` in the expected text.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.errors import HeadraceError
from headrace.origin import Origin
from headrace.record import RecordMetadata

RECORD = RecordMetadata("in", 0, 0)
"""Where the first record came from."""


@dataclass(frozen=True)
class Mistake:
    make: Callable[[], Any]
    error: type[HeadraceError]
    message: str
    node: str | None
    metadata: RecordMetadata | None

    def __str__(self) -> str:
        return self.make.__name__

    def line(self, mark: str) -> Origin:
        lines, first = inspect.getsourcelines(self.make)
        (found,) = [
            first + number for number, line in enumerate(lines) if line.rstrip().endswith(f"# {mark}")
        ]
        return Origin(inspect.getfile(self.make), found)

    def check(self) -> None:
        with pytest.raises(HeadraceError) as raised:
            self.make()
        error, message = raised.value, self.message
        if "{before}" in message:
            message = message.replace("{before}", str(self.line("before")))
        assert error.message == message
        assert type(error) is self.error
        assert error.node == self.node
        assert error.metadata == self.metadata
        assert error.origin == self.line("here")
        assert str(self.line("here")) in str(error)


def collector(
    found: list[Mistake],
) -> Callable[..., Callable[[Callable[[], Any]], Callable[[], Any]]]:
    """The decorator of a test file."""

    def mistake(
        error: type[HeadraceError],
        message: str,
        *,
        node: str | None = None,
        metadata: RecordMetadata | None = None,
    ) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
        def collect(make: Callable[[], Any]) -> Callable[[], Any]:
            found.append(Mistake(make, error, message, node, metadata))
            return make

        return collect

    return mistake
