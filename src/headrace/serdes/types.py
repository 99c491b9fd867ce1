"""A value's type as data, for comparing it with that of another version of a program that is not at hand.

A plain type is its name. The others are objects with one key that tells which they are: `record`, `enum`, `literal`,
`list`, `set`, `tuple`, `dict`, `union`, `ref` (a record that is described further out) or `class` (unknown).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import inspect

from headrace.serdes.json import is_pydantic

TypeData: TypeAlias = str | dict[str, Any]

_PLAIN: dict[type, str] = {
    inspect.AnyType: "any",
    inspect.RawType: "any",
    inspect.NoneType: "null",
    inspect.BoolType: "boolean",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.StrType: "string",
    inspect.BytesType: "bytes",
    inspect.ByteArrayType: "bytes",
    inspect.MemoryViewType: "bytes",
    inspect.DateTimeType: "datetime",
    inspect.DateType: "date",
    inspect.TimeType: "time",
    inspect.TimeDeltaType: "duration",
    inspect.UUIDType: "uuid",
    inspect.DecimalType: "decimal",
}


def describe_type(kind: Any) -> TypeData:
    """The type as data that JSON can hold.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Order:
    ...     id: str
    ...     amounts: list[float]
    ...     note: str | None = None
    >>> describe_type(Order)["fields"][1]
    {'name': 'amounts', 'type': {'list': 'number'}, 'required': True}
    """
    return _of(kind, ())


def _of(kind: Any, within: tuple[Any, ...]) -> TypeData:
    if is_pydantic(kind):
        return _model(kind, within)
    return _described(inspect.type_info(kind), within)


def _described(info: Any, within: tuple[Any, ...]) -> TypeData:
    plain = _PLAIN.get(type(info))
    if plain is not None:
        return plain
    match info:
        case inspect.UnionType():
            return {"union": [_described(each, within) for each in info.types]}
        case inspect.ListType() | inspect.VarTupleType():
            return {"list": _described(info.item_type, within)}
        case inspect.SetType() | inspect.FrozenSetType():
            return {"set": _described(info.item_type, within)}
        case inspect.TupleType():
            return {"tuple": [_described(each, within) for each in info.item_types]}
        case inspect.DictType():
            return {"dict": [_described(info.key_type, within), _described(info.value_type, within)]}
        case inspect.EnumType():
            return {"enum": info.cls.__qualname__, "values": [each.value for each in info.cls]}
        case inspect.LiteralType():
            return {"literal": list(info.values)}
        case (
            inspect.StructType()
            | inspect.DataclassType()
            | inspect.TypedDictType()
            | inspect.NamedTupleType()
        ):
            return _record(info, within)
    kind = getattr(info, "cls", type(info))
    return _model(kind, within) if is_pydantic(kind) else {"class": f"{kind.__module__}.{kind.__qualname__}"}


def _record(info: Any, within: tuple[Any, ...]) -> TypeData:
    if info.cls in within:
        return {"ref": info.cls.__qualname__}
    fields = [
        _field(field.encode_name, _described(field.type, (*within, info.cls)), field.required)
        for field in info.fields
    ]
    found: dict[str, Any] = {"record": info.cls.__qualname__, "fields": fields}
    if getattr(info, "forbid_unknown_fields", False):
        found["strict"] = True
    if getattr(info, "array_like", False) or isinstance(info, inspect.NamedTupleType):
        found["by_position"] = True
    if getattr(info, "tag", None) is not None:
        found["tag"] = [info.tag_field, info.tag]
    return found


def _model(kind: Any, within: tuple[Any, ...]) -> TypeData:
    if kind in within:
        return {"ref": kind.__qualname__}
    fields = [
        _field(
            field.serialization_alias or field.alias or name,
            _of_field(field.annotation, (*within, kind)),
            field.is_required(),
        )
        for name, field in kind.__pydantic_fields__.items()
    ]
    found: dict[str, Any] = {"record": kind.__qualname__, "fields": fields}
    settings = getattr(kind, "model_config", None) or getattr(kind, "__pydantic_config__", None) or {}
    if settings.get("extra") == "forbid":
        found["strict"] = True
    return found


def _of_field(annotation: Any, within: tuple[Any, ...]) -> TypeData:
    try:
        return _of(annotation, within)
    except (TypeError, NameError, msgspec.MsgspecError):
        # pydantic reads more than msgspec knows of.
        return {"class": str(annotation)}


def _field(name: str, kind: TypeData, required: bool) -> dict[str, Any]:
    return {"name": name, "type": kind, "required": required}
