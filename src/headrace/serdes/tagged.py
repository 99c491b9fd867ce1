"""Values of a type that nobody named: written together with the type's name. Never pickle (docs/adr)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
from msgspec.msgpack import Ext

from headrace.errors import MissingSerdeError
from headrace.record import Windowed
from headrace.serdes.base import Serde
from headrace.serdes.json import JsonSerde, from_plain, is_pydantic, to_plain

_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})
_BUILTIN: dict[str, Any] = {
    f"{kind.__module__}:{kind.__qualname__}": kind
    for kind in (datetime, date, time, timedelta, Decimal, UUID)
}
_TUPLE, _SET, _FROZENSET, _DICT, _WINDOWED, _OBJECT = range(1, 7)
_FIX = "say the type with `value=` (or `key=`)"


class TaggedSerde(Serde[Any]):
    """Carries the type's name with the value, so that a step without a declared type can be stored or repartitioned.

    Holds plain values, lists, tuples, sets, dicts, and objects of the user's own dataclasses, structs, models,
    enums and named tuples. A name is only ever looked up in modules that are already imported, and only such
    classes are accepted: bytes from a topic cannot run code.

    >>> serde = TaggedSerde()
    >>> serde.deserialize(serde.serialize({"a": (1, 2.5)}))
    {'a': (1, 2.5)}
    """

    def __init__(self) -> None:
        self._encode = msgspec.msgpack.Encoder().encode
        self._writers: dict[type, Callable[[Any], Any]] = {
            list: lambda value: [self._tree(item) for item in value],
            dict: self._dict,
            tuple: lambda value: Ext(_TUPLE, self._items(value)),
            # Sorted by their bytes, so that equal sets are written alike.
            set: lambda value: Ext(_SET, self._sorted(value)),
            frozenset: lambda value: Ext(_FROZENSET, self._sorted(value)),
            Windowed: lambda value: Ext(_WINDOWED, self._items(value)),
        }
        self._readers: dict[bytes, Callable[[bytes], Any]] = {}
        # Plain values, lists and dicts are read without any Python of ours.
        decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(ext_hook=self._read)
        self._decode = decoder.decode
        self._use(self.serialize, decoder.decode)

    def serialize(self, value: Any) -> bytes:
        try:
            return self._encode(value if type(value) in _PLAIN else self._tree(value))
        except OverflowError as error:
            raise ValueError(f"{error}; {_FIX}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaggedSerde)

    def __hash__(self) -> int:
        return hash(TaggedSerde)

    def __repr__(self) -> str:
        return "TaggedSerde()"

    def __reduce__(self) -> tuple[object, ...]:
        return (TaggedSerde, ())

    def _tree(self, value: Any) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        writer = self._writers.get(kind)
        if writer is None:
            writer = self._writers[kind] = self._object_writer(kind)
        return writer(value)

    def _dict(self, value: dict[Any, Any]) -> Any:
        if all(type(key) in _PLAIN for key in value):
            return {key: self._tree(item) for key, item in value.items()}
        return Ext(_DICT, self._items(item for pair in value.items() for item in pair))

    def _items(self, values: Any) -> bytes:
        return self._encode([self._tree(item) for item in values])

    def _sorted(self, values: Any) -> bytes:
        return self._encode([msgspec.Raw(item) for item in sorted(map(self.serialize, values))])

    def _object_writer(self, kind: type) -> Callable[[Any], Any]:
        name = _name_of(kind).encode()
        write, _ = _codec(kind)
        return lambda value: Ext(_OBJECT, name + b"\0" + write(value))

    def _read(self, code: int, data: memoryview) -> Any:
        if code == _OBJECT:
            name, _, body = bytes(data).partition(b"\0")
            reader = self._readers.get(name)
            if reader is None:
                _, reader = _codec(_class_named(name.decode()))
                self._readers[name] = reader
            return reader(body)
        items = self._decode(bytes(data))
        if code == _TUPLE:
            return tuple(items)
        if code == _SET:
            return set(items)
        if code == _FROZENSET:
            return frozenset(items)
        if code == _DICT:
            return dict(zip(items[::2], items[1::2], strict=True))
        if code == _WINDOWED:
            return Windowed(*items)
        raise ValueError(f"unknown mark {code}: these bytes were not written by TaggedSerde")


def _codec(kind: Any) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    """How the fields of an object are written and read, by what its class declares."""
    try:
        json: JsonSerde[Any] = JsonSerde(kind)  # also finds fields that cannot be read back
    except MissingSerdeError as error:
        raise TypeError(error.message) from None
    if is_pydantic(kind):
        return json.serialize, json.deserialize
    # MessagePack keeps NaN and bytes, which JSON does not.
    decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(kind, dec_hook=from_plain)
    return msgspec.msgpack.Encoder(enc_hook=to_plain).encode, decoder.decode


def _name_of(kind: type) -> str:
    module = _main_name() if kind.__module__ == "__main__" else kind.__module__
    name = f"{module}:{kind.__qualname__}"
    if name in _BUILTIN:
        return name
    if not _is_data(kind):
        raise TypeError(
            f"`{kind.__qualname__}` is not a dataclass, struct, model, enum or named tuple: {_FIX}"
        )
    try:
        found = _class_named(name)
    except ValueError:
        found = None
    if found is not kind:
        raise TypeError(
            f"`{kind.__qualname__}` cannot be found again as `{name}`: define it at the top level of a module "
            f"of your own, or {_FIX}"
        )
    return name


def _class_named(name: str) -> Any:
    if name in _BUILTIN:
        return _BUILTIN[name]
    module_name, _, path = name.partition(":")
    found: Any = sys.modules.get("__main__" if module_name == _main_name() else module_name)
    hint = f"it holds a `{name}`; "
    if found is None:
        raise ValueError(f"{hint}no such module has been imported: import it where the topology is built")
    if found.__name__.partition(".")[0] in sys.stdlib_module_names - {"__main__"}:
        raise ValueError(f"{hint}that is not one of your own modules")
    for part in path.split("."):
        found = getattr(found, part, None)
    if not _is_data(found):
        raise ValueError(f"{hint}that is not a dataclass, struct, model, enum or named tuple")
    return found


def _is_data(kind: Any) -> bool:
    return isinstance(kind, type) and (
        is_dataclass(kind)
        or is_pydantic(kind)
        or issubclass(kind, msgspec.Struct | Enum)
        or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    )


def _main_name() -> str:
    """The name under which the main program can be imported, so that a script and its module write the same."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return str(spec.name)
    file = getattr(main, "__file__", None)
    return Path(file).stem if file else "__main__"
