"""From what a user says (`value=Order`) to a serde."""

from __future__ import annotations

import datetime
import types
import typing
from dataclasses import is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, TypeVar, overload
from uuid import UUID

import msgspec

from headrace.errors import MissingSerdeError
from headrace.origin import caller
from headrace.record import Windowed
from headrace.serdes.base import Serde
from headrace.serdes.change import ChangeSerde
from headrace.serdes.foreign_key import AnswerSerde, SubscriptionSerde
from headrace.serdes.identity import KeyAndIdSerde
from headrace.serdes.joined import JoinKeySerde, JoinValuesSerde
from headrace.serdes.json import JsonSerde, is_pydantic
from headrace.serdes.primitives import BOOLEAN, BYTES, DOUBLE, LONG, STRING, UUID_TEXT, VOID
from headrace.serdes.windowed import WindowedSerde

T = TypeVar("T")

_PRIMITIVE: dict[Any, Serde[Any]] = {
    str: STRING,
    int: LONG,
    float: DOUBLE,
    bytes: BYTES,
    bool: BOOLEAN,
    UUID: UUID_TEXT,
    None: VOID,
    types.NoneType: VOID,
}
_JSON_CLASSES = (
    dict,
    list,
    tuple,
    set,
    frozenset,
    msgspec.Struct,
    Enum,
    Decimal,
    datetime.date,
    datetime.time,
    datetime.timedelta,
)


@overload
def serde_for(source: Serde[T]) -> Serde[T]: ...
@overload
def serde_for(source: type[T]) -> Serde[T]: ...
@overload
def serde_for(source: None) -> Serde[None]: ...
@overload
def serde_for(source: Any) -> Serde[Any]: ...
def serde_for(source: Any) -> Serde[Any]:
    """The serde of a type, or the serde itself.

    `str`, `int` (Kafka's long), `float` (double), `bytes`, `bool` and `UUID` have Kafka's bytes; dataclasses,
    msgspec structs, pydantic models, TypedDicts, `dict`, `list[...]` and the like are JSON.

    >>> serde_for(int).serialize(1)
    b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01'
    >>> serde_for(dict).serialize({"a": 1})
    b'{"a":1}'
    """
    if isinstance(source, Serde):
        return source
    kind = _bare(source)
    try:
        primitive = _PRIMITIVE.get(kind)
    except TypeError:  # not hashable, so not a type
        raise _unknown(source) from None
    if primitive is not None:
        return primitive
    if _is_json(kind):
        return JsonSerde(kind)
    raise _unknown(source)


def resolve(serde: Serde[Any] | None, default: Serde[Any] | None) -> Serde[Any] | None:
    """A node's serde once the configuration's default is known; fills a serde around others that has none yet.

    >>> resolve(None, serde_for(str))
    Serdes.string()
    """
    if serde is None:
        return default
    if not isinstance(serde, _AROUND_OTHERS):
        return serde
    if serde.inner is None:
        return None if default is None else serde.with_inner(default)
    if isinstance(serde, JoinValuesSerde):
        return serde
    # The key of a join may itself be around another: a window's.
    inner = resolve(serde.inner, default)
    return serde if inner is serde.inner else None if inner is None else serde.with_inner(inner)


_AROUND_OTHERS = (
    ChangeSerde,
    WindowedSerde,
    JoinKeySerde,
    JoinValuesSerde,
    KeyAndIdSerde,
    SubscriptionSerde,
    AnswerSerde,
)


def _bare(kind: Any) -> Any:
    """The type without `Annotated`, `NewType`, an alias' name, and `| None` (a null is never written)."""
    while True:
        origin = typing.get_origin(kind)
        if origin is typing.Annotated:
            kind = typing.get_args(kind)[0]
        elif hasattr(kind, "__supertype__"):
            kind = kind.__supertype__
        elif type(kind).__name__ == "TypeAliasType":  # the `type` statement of Python 3.12
            kind = kind.__value__
        elif origin in (typing.Union, types.UnionType):
            rest = [arg for arg in typing.get_args(kind) if arg is not types.NoneType]
            if len(rest) != 1:
                return kind
            kind = rest[0]
        else:
            return kind


def _is_json(kind: Any) -> bool:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return all(_bare(arg) in _PRIMITIVE or _is_json(arg) for arg in typing.get_args(kind))
    if origin is typing.Literal:
        return True
    kind = origin or kind
    if not isinstance(kind, type) or issubclass(kind, Windowed):
        return False
    return (
        is_dataclass(kind)
        or is_pydantic(kind)
        or issubclass(kind, _JSON_CLASSES)
        or typing.is_typeddict(kind)
    )


def _unknown(source: Any) -> MissingSerdeError:
    if isinstance(source, type) and issubclass(source, Serde):
        return MissingSerdeError(
            f"expected a serde, got its class `{source.__name__}`: write `{source.__name__}()`",
            origin=caller(),
        )
    if isinstance(source, str | bytes | int | float | tuple | list | dict | set):
        return MissingSerdeError(
            f"expected a type or a serde, got {source!r}: pass the type itself, such as `str` or `int`",
            origin=caller(),
        )
    name = source.__name__ if isinstance(source, type) else repr(source)
    if (typing.get_origin(source) or source) is Windowed:
        return MissingSerdeError(
            f"`{name}` does not say its window: pass `TimeWindowedSerde(...)` or `SessionWindowedSerde(...)`",
            origin=caller(),
        )
    return MissingSerdeError(
        f"no serde for `{name}`: make it a dataclass, a msgspec struct, a pydantic model or a TypedDict, "
        "or pass a `Serde` (see `Serde.of`)",
        origin=caller(),
    )
