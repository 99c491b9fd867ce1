"""What to do with a record that cannot be read, processed or written: stop, skip it, or try to write it again."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypeAlias

from headrace.errors import ConfigError, HeadraceError, ProcessingError
from headrace.record import NO_HEADERS, Headers, RecordMetadata, TaskId

logger = logging.getLogger("headrace")


class Response(Enum):
    """A handler's answer. Only a production handler may say RETRY."""

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
    attempt: int = 1
    """How often the handler was asked about this record: more than once after RETRY."""


class DeadLetter(NamedTuple):
    """A record that a handler writes about a failure, in bytes."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = NO_HEADERS


@dataclass(frozen=True, slots=True)
class Answer:
    """A response with dead letters of the handler's own, instead of the one for `dead_letter_topic` (KIP-1034).

    >>> def by_topic(context: ErrorContext, error: ProcessingError) -> Answer:
    ...     topic = f"{context.metadata.topic}-failed" if context.metadata else "failed"
    ...     return Answer(Response.CONTINUE, dead_letters=[dead_letter(context, error, topic)])
    >>> context = ErrorContext("node", TaskId(0, 0), RecordMetadata("orders", 0, 7), b"k", b"v", 5, ())
    >>> [letter.topic for letter in by_topic(context, ProcessingError("no")).dead_letters]
    ['orders-failed']
    """

    response: Response
    dead_letters: Sequence[DeadLetter] = ()

    def __post_init__(self) -> None:
        if self.dead_letters and self.response is not Response.CONTINUE:
            raise ConfigError(
                f"dead letters go with `Response.CONTINUE`, got {self.response}: nothing is written of a batch that "
                f"fails, and what is tried again has not failed yet"
            )


ErrorHandler: TypeAlias = Callable[[ErrorContext, ProcessingError], Response | Answer]
"""What went wrong in the first place is the error's `__cause__`."""


def log_and_fail(context: ErrorContext, error: ProcessingError) -> Response:
    """Stop the application; the record stays where it is. The default."""
    return Response.FAIL


def log_and_continue(context: ErrorContext, error: ProcessingError) -> Response:
    """Skip the record; it goes to `dead_letter_topic` if the configuration names one."""
    logger.warning("skipped a record: %s", error)
    return Response.CONTINUE


def dead_letter(context: ErrorContext, error: HeadraceError, topic: str) -> DeadLetter:
    """The record as it was in its topic, with headers that say why it failed behind its own.

    >>> context = ErrorContext("node", TaskId(0, 0), RecordMetadata("orders", 0, 7), b"k", b"v", 5, ())
    >>> letter = dead_letter(context, ProcessingError("no"), "failed")
    >>> letter.topic, letter.value, dict(letter.headers)["__streams.errors.offset"]
    ('failed', b'v', b'7')
    """
    cause = error if error.__cause__ is None else error.__cause__
    headers = context.headers + error_headers(context.metadata, cause)
    return DeadLetter(topic, context.key, context.value, context.timestamp, headers)


def error_headers(metadata: RecordMetadata | None, error: BaseException) -> Headers:
    """The headers that Kafka Streams adds to a dead letter."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    topic, partition, offset = metadata or (None, -1, -1)
    trace = "".join(traceback.format_exception(error))
    return (
        ("__streams.errors.exception", name.encode()),
        ("__streams.errors.message", str(error).encode(errors="backslashreplace")),
        ("__streams.errors.stacktrace", trace.encode(errors="backslashreplace")),
        ("__streams.errors.topic", None if topic is None else topic.encode()),
        ("__streams.errors.partition", str(partition).encode()),
        ("__streams.errors.offset", str(offset).encode()),
    )
