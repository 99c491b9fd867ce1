"""Users' own processors, and the context they work in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from headrace.config import StreamsConfig
from headrace.errors import CallbackError, HeadraceError, InvalidArgumentError, ProcessingError
from headrace.origin import caller, raised_at
from headrace.processor import Cancellable, Processor, PunctuationType, TaskMetrics
from headrace.processors.context import NodeContext, Process
from headrace.processors.registry import implements
from headrace.record import Headers, Record, RecordMetadata, TaskId
from headrace.serdes import Serde, serde_for
from headrace.topology.operators import Process as CustomProcess


class CustomContext:
    """Implements `ProcessorContext` for one processor of one task."""

    __slots__ = ("_forward", "_moment", "_node", "_task")

    def __init__(self, node: NodeContext) -> None:
        self._node = node
        self._task = node.task
        self._forward = node.forward
        self._moment = node.task.moment

    @property
    def application_id(self) -> str:
        return self._task.application_id

    @property
    def task_id(self) -> TaskId:
        return self._task.task_id

    @property
    def record_metadata(self) -> RecordMetadata | None:
        return self._task.metadata()

    @property
    def config(self) -> StreamsConfig:
        return self._task.config

    @property
    def key_serde(self) -> Serde[Any] | None:
        return _default(self._task.config.default_key)

    @property
    def value_serde(self) -> Serde[Any] | None:
        return _default(self._task.config.default_value)

    @property
    def state_dir(self) -> Path:
        return self._task.state_dir

    @property
    def metrics(self) -> TaskMetrics:
        return self._task.metrics

    def get_state_store(self, name: str) -> Any:
        return self._node.store(name)

    def schedule(
        self,
        interval: timedelta,
        type: PunctuationType,
        callback: Callable[[int], None],
        *,
        start: datetime | int | None = None,
    ) -> Cancellable:
        return self._task.schedule(self._node, interval, type, callback, start)

    def forward(self, record: Record[Any, Any], child: str | None = None) -> None:
        try:
            if record.timestamp < 0:
                raise InvalidArgumentError(
                    f"a record's timestamp must not be negative, got {record.timestamp}: it is milliseconds since 1970",
                    node=self._node.name,
                    origin=caller(),
                )
        except AttributeError:
            raise InvalidArgumentError(
                f"`forward` takes a `Record`, got {record!r}: change the one that came in with `with_value` and the "
                "like, or make one with `Record(key, value, timestamp)`",
                node=self._node.name,
                origin=caller(),
            ) from None
        before = self._moment.time
        target = self._forward if child is None else self._node.child(child)
        target(record.key, record.value, record.timestamp, record.headers)
        # The nodes behind have moved it to their own record's time.
        self._moment.time = before

    def commit(self) -> None:
        self._task.request_commit()

    def current_stream_time_ms(self) -> int:
        return self._task.stream_time()

    def current_system_time_ms(self) -> int:
        return self._task.wall_clock()


def _default(given: Any) -> Serde[Any] | None:
    return None if given is None else serde_for(given)


_NO_RECORD = object()


class FixedKeyContext(CustomContext):
    """The context of `process_values`: what is forwarded must keep the key, so that no repartition is needed."""

    __slots__ = ("key",)

    def __init__(self, node: NodeContext) -> None:
        super().__init__(node)
        self.key: Any = _NO_RECORD

    def forward(self, record: Record[Any, Any], child: str | None = None) -> None:
        key = self.key
        if isinstance(record, Record) and record.key is not key and record.key != key:
            got = f"got {record.key!r} instead of {key!r}"
            if key is _NO_RECORD:
                got = "and a punctuator has none"
            raise InvalidArgumentError(
                f"`process_values` must forward records with the key they came with, {got}: use `process` to change it",
                node=self._node.name,
                origin=self._node.origin,
            )
        super().forward(record, child)


@implements(CustomProcess)
def custom(operator: CustomProcess, ctx: NodeContext) -> Process:
    """A processor of its own for each task, with a context of its own."""
    try:
        processor = operator.supplier()
    except Exception as error:
        raise CallbackError(
            f"the supplier of a processor raised {type(error).__name__}: {error}",
            node=ctx.name,
            origin=raised_at(error),
        ) from error
    if not isinstance(processor, Processor):
        raise InvalidArgumentError(
            f"a processor's supplier must return a `Processor`, got {processor!r}: pass the class, or a function that "
            f"makes a new one",
            node=ctx.name,
            origin=ctx.origin,
        )
    context = FixedKeyContext(ctx) if operator.fixed_key else CustomContext(ctx)
    run, failed, moment = processor.process, ctx.failed, ctx.task.moment
    ctx.at_start(lambda: _init(processor, context, ctx))
    ctx.at_close(processor.close)

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        moment.time = timestamp
        try:
            run(Record(key, value, timestamp, headers))
        except Exception as error:
            if is_settled(error):
                raise
            failed(error, timestamp, headers)

    if not isinstance(context, FixedKeyContext):
        return process
    fixed: FixedKeyContext = context

    def process_fixed(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        fixed.key = key
        process(key, value, timestamp, headers)
        fixed.key = _NO_RECORD

    return process_fixed


def is_settled(error: Exception) -> bool:
    """Whether a handler has already decided to fail because of it: at a node behind the one that forwarded.

    Errors of stores are of the same kind, but nobody has put a node on them yet.
    """
    return isinstance(error, ProcessingError) and error.node is not None


def _init(processor: Processor[Any, Any, Any, Any], context: CustomContext, ctx: NodeContext) -> None:
    # An `init` of the user's own may forget to keep it.
    processor.context = context
    try:
        processor.init(context)
    except HeadraceError:
        raise
    except Exception as error:
        raise CallbackError(
            f"`{type(processor).__name__}.init` raised {type(error).__name__}: {error}",
            node=ctx.name,
            origin=raised_at(error),
        ) from error
