"""Users' own transformers of a table's rows, and the context they work in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from headrace.errors import CallbackError, HeadraceError, InvalidArgumentError
from headrace.origin import raised_at
from headrace.processor import ValueTransformer
from headrace.processors.context import NodeContext
from headrace.processors.custom import CustomContext
from headrace.record import Record, RecordMetadata

Transform: TypeAlias = Callable[[Any, Any], Any]


class TransformerContext(CustomContext):
    """A transformer returns its result: it cannot forward. A row that is looked up came from no record."""

    __slots__ = ("_of_record",)

    def __init__(self, node: NodeContext, of_record: bool) -> None:
        super().__init__(node)
        self._of_record = of_record

    @property
    def record_metadata(self) -> RecordMetadata | None:
        return super().record_metadata if self._of_record else None

    def forward(self, record: Record[Any, Any], child: str | None = None) -> None:
        raise InvalidArgumentError(
            "a `ValueTransformer` cannot forward: return the new value from `transform`",
            node=self._node.name,
            origin=self._node.origin,
        )


def transformer(supplier: Callable[[], Any], ctx: NodeContext, *, of_record: bool) -> Transform:
    """`transform` of a new transformer, which is started and closed with the task."""
    made = supplier()
    if not isinstance(made, ValueTransformer):
        raise InvalidArgumentError(
            f"a transformer's supplier must return a `ValueTransformer`, got {made!r}: pass the class, or a function "
            f"that makes a new one",
            node=ctx.name,
            origin=ctx.origin,
        )
    context = TransformerContext(ctx, of_record)

    def start() -> None:
        try:
            made.init(context)
        except HeadraceError:
            raise
        except Exception as error:
            raise CallbackError(
                f"`{type(made).__name__}.init` raised {type(error).__name__}: {error}",
                node=ctx.name,
                origin=raised_at(error),
            ) from error

    ctx.at_start(start)
    ctx.at_close(made.close)
    return made.transform
