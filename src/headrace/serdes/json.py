"""JSON for dataclasses, msgspec structs, pydantic models, TypedDicts, dicts, lists and what they hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import msgspec

from headrace.errors import MissingSerdeError
from headrace.origin import caller
from headrace.serdes.base import Serde

T = TypeVar("T")


class JsonSerde(Serde[T]):
    """Writes JSON, and reads it straight into the type, refusing what does not fit.

    `serialize` and `deserialize` are the encoder's and decoder's own methods: no Python runs in between.
    JSON has no NaN or infinity, so they become null; say `Serdes.double()` for bare floats.

    >>> JsonSerde(dict[str, int]).deserialize(b'{"a": 1}')
    {'a': 1}
    """

    def __init__(self, type: type[T]) -> None:
        self.type = type
        write, read = _pydantic(type) if is_pydantic(type) else _msgspec(type)
        self._use(write, read)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JsonSerde) and self.type == other.type

    def __hash__(self) -> int:
        return hash((JsonSerde, self.type))

    def __repr__(self) -> str:
        return f"JsonSerde({_name(self.type)})"

    def __reduce__(self) -> tuple[object, ...]:
        # Encoders cannot be pickled; the worker makes its own.
        return (JsonSerde, (self.type,))


def is_pydantic(kind: Any) -> bool:
    """Whether it is a pydantic model or dataclass; asked without importing pydantic, which is optional."""
    return isinstance(kind, type) and hasattr(kind, "__pydantic_validator__")


def _pydantic(kind: Any) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    if not kind.__pydantic_complete__:
        kind.model_rebuild()
    write = partial(kind.__pydantic_serializer__.to_json, by_alias=True, warnings="error")
    return write, kind.__pydantic_validator__.validate_json


def _msgspec(kind: Any) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    try:
        foreign = sorted(_foreign(msgspec.inspect.type_info(kind)))
        decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind, dec_hook=from_plain)
    except (NameError, TypeError) as error:
        fix = "define it and the types of its fields at the top level of a module"
        if "unions" in str(error):
            fix = "make them msgspec structs with `tag=True`, so that each says which it is"
        raise MissingSerdeError(
            f"`{_name(kind)}` cannot be written as JSON: {error}; {fix}, or pass a `Serde`", origin=caller()
        ) from error
    if foreign:
        raise MissingSerdeError(
            f"`{_name(kind)}` cannot be written as JSON, because it holds `{foreign[0]}`: make that a dataclass, "
            "or pass a `Serde`",
            origin=caller(),
        )
    return msgspec.json.Encoder(enc_hook=to_plain).encode, decoder.decode


def to_plain(value: Any) -> Any:
    """What the encoder does not know itself: a pydantic model inside another type."""
    kind = type(value)
    if is_pydantic(kind):
        return kind.__pydantic_serializer__.to_python(value, mode="json", by_alias=True, warnings="error")
    raise TypeError(f"expected something that JSON can hold, got {value!r} of type `{kind.__name__}`")


def from_plain(kind: Any, value: Any) -> Any:
    """The other way round."""
    return kind.__pydantic_validator__.validate_python(value)


def _foreign(info: msgspec.inspect.Type) -> set[str]:
    """Names of the classes in a type that nothing here can read, found now rather than at the first record."""
    found: set[str] = set()
    seen: set[int] = set()
    todo: list[Any] = [info]
    while todo:
        item = todo.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, msgspec.inspect.CustomType) and not is_pydantic(item.cls):
            found.add(_name(item.cls))
        elif isinstance(item, tuple):
            todo.extend(item)
        elif isinstance(item, msgspec.inspect.Type | msgspec.inspect.Field):
            todo.extend(getattr(item, field) for field in item.__struct_fields__)
    return found


def _name(kind: Any) -> str:
    return kind.__qualname__ if isinstance(kind, type) else str(kind)
