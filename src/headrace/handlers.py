"""What to do with a record that cannot be read, processed or written: stop, or skip it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from headrace.errors import ProcessingError
from headrace.record import Headers, RecordMetadata, TaskId

logger = logging.getLogger("headrace")


class Response(Enum):
    """A handler's answer."""

    FAIL = "fail"
    CONTINUE = "continue"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class ErrorContext:
    """The failed record, as it was in its topic, and where it failed."""

    node: str
    task_id: TaskId
    metadata: RecordMetadata | None
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers


ErrorHandler: TypeAlias = Callable[[ErrorContext, ProcessingError], Response]


def log_and_fail(context: ErrorContext, error: ProcessingError) -> Response:
    """Stop the application; the record stays where it is. The default."""
    return Response.FAIL


def log_and_continue(context: ErrorContext, error: ProcessingError) -> Response:
    """Skip the record; it goes to `dead_letter_topic` if the configuration names one."""
    logger.warning("skipped a record: %s", error)
    return Response.CONTINUE
