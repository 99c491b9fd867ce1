"""What happens to a record that cannot be read, processed or written: its handler decides (KIP-1033, KIP-1034)."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from headrace.config import StreamsConfig
from headrace.errors import (
    BufferFullError,
    CallbackError,
    DeserializationError,
    HeadraceError,
    ProcessingError,
    SerializationError,
)
from headrace.handlers import Answer, ErrorContext, ErrorHandler, Response, dead_letter
from headrace.origin import NOWHERE, Origin, raised_at
from headrace.record import Headers, TaskId
from headrace.serdes import Serde, explain_read, explain_write
from headrace.task.output import Output
from headrace.task.position import Position

HandlerName: TypeAlias = Literal["deserialization_handler", "processing_handler", "production_handler"]


def describe(error: BaseException) -> str:
    """The exception as a line: its type and message."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class Failures:
    """Routes the errors of one task."""

    __slots__ = ("_config", "_output", "_position", "_task_id")

    def __init__(
        self, config: StreamsConfig, task_id: TaskId, position: Position, output: Output | None
    ) -> None:
        self._config = config
        self._task_id = task_id
        self._position = position
        self._output = output

    def callback(self, node: str, origin: Origin, error: Exception, timestamp: int, headers: Headers) -> None:
        """A user's function raised; returns when the record is to be skipped at this node."""
        where = raised_at(error)
        # What a store has to say is said well already.
        what = error.message if isinstance(error, HeadraceError) else f"a callback raised {describe(error)}"
        kind = BufferFullError if isinstance(error, BufferFullError) else CallbackError
        failure = kind(
            what,
            node=node,
            origin=origin if where == NOWHERE else where,
            metadata=self._position.metadata(),
        )
        self._handle("processing_handler", failure, error, timestamp, headers)

    def poison(
        self, node: str, origin: Origin, part: str, serde: Serde[Any], data: bytes, error: Exception
    ) -> None:
        """A key or value of the current record cannot be read; returns when the record is to be skipped."""
        position = self._position
        failure = DeserializationError(
            f"poison record: its {part} is not what this source reads: {explain_read(serde, data, error)}",
            node=node,
            origin=origin,
            metadata=position.metadata(),
        )
        self._handle("deserialization_handler", failure, error, position.timestamp(), position.headers())

    def unwritable(
        self,
        node: str,
        origin: Origin,
        part: str,
        serde: Serde[Any],
        got: object,
        error: Exception,
        timestamp: int,
        headers: Headers,
        attempt: int,
    ) -> bool:
        """A key or value cannot be written to a topic; returns whether to try it again, or to skip it."""
        failure = SerializationError(
            f"the {part} cannot be written: {explain_write(serde, got, error)}",
            node=node,
            origin=origin,
            metadata=self._position.metadata(),
        )
        return self._handle("production_handler", failure, error, timestamp, headers, attempt)

    def _handle(
        self,
        name: HandlerName,
        failure: ProcessingError,
        error: Exception,
        timestamp: int,
        headers: Headers,
        attempt: int = 1,
    ) -> bool:
        """Whether to try again; if not, the record is to be skipped."""
        handler: ErrorHandler = getattr(self._config, name)
        failure.__cause__ = error
        key, value = self._position.raw()
        context = ErrorContext(
            node=failure.node or "",
            task_id=self._task_id,
            metadata=failure.metadata,
            key=key,
            value=value,
            timestamp=timestamp,
            headers=headers,
            attempt=attempt,
        )
        try:
            answer = handler(context, failure)
            if isinstance(answer, Response):
                answer = self._usual(answer, context, failure)
            if not isinstance(answer, Answer):
                raise TypeError(f"expected a `Response` or an `Answer`, got {answer!r}")
        except Exception as fatal:
            raise CallbackError(
                f"`{name}` itself raised {describe(fatal)} when it was asked about: {failure.message}",
                node=failure.node,
                origin=raised_at(fatal),
                metadata=failure.metadata,
            ) from fatal
        tries = self._config.production_retries if name == "production_handler" else 0
        if answer.response is Response.RETRY and attempt <= tries:
            return True
        if answer.response is not Response.CONTINUE:
            again = f" (tried {attempt} times)" if attempt > 1 else ""
            raise type(failure)(
                f"{failure.message}{again}; to skip such records set `{name}=log_and_continue`",
                node=failure.node,
                origin=failure.origin,
                metadata=failure.metadata,
            ) from error
        if self._output is not None:
            for letter in answer.dead_letters:
                column = self._output.columns(letter.topic, False)
                column.add(letter.key, letter.value, letter.timestamp, letter.headers)
        return False

    def _usual(self, response: Response, context: ErrorContext, failure: ProcessingError) -> Answer:
        """What a bare response means: a skipped record goes to the dead letter topic, if there is one."""
        topic = self._config.dead_letter_topic
        if response is not Response.CONTINUE or topic is None:
            return Answer(response)
        return Answer(response, [dead_letter(context, failure, topic)])
