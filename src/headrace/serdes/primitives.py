"""Plain values, with the bytes of Kafka's own serializers."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeVar, cast
from uuid import UUID

from headrace.serdes.base import Serde

T = TypeVar("T")


class PrimitiveSerde(Serde[T]):
    """One of Kafka's built-in formats. There is one object per name, also after pickling."""

    def __init__(
        self, name: str, writes: str, serialize: Callable[[T], bytes], deserialize: Callable[[bytes], T]
    ) -> None:
        self.name = name
        self.writes = writes
        self._use(serialize, deserialize)
        PRIMITIVES[name] = self

    def __repr__(self) -> str:
        return f"Serdes.{self.name}()"

    def __reduce__(self) -> tuple[object, ...]:
        return (_by_name, (self.name,))


PRIMITIVES: dict[str, PrimitiveSerde[Any]] = {}


def _by_name(name: str) -> PrimitiveSerde[Any]:
    return PRIMITIVES[name]


def _number(name: str, writes: str, code: str) -> PrimitiveSerde[Any]:
    """A number of fixed width, big-endian as in Kafka."""
    form = struct.Struct(">" + code)
    pack, unpack, size = form.pack, form.unpack, form.size

    def serialize(value: Any) -> bytes:
        try:
            return pack(value)
        except (struct.error, OverflowError) as error:
            if not isinstance(value, int | float):
                raise TypeError(
                    f"expected `{writes}`, got {value!r} of type `{type(value).__name__}`"
                ) from None
            raise ValueError(f"{value!r} cannot be written as {size} bytes: {error}") from None

    def deserialize(data: bytes) -> Any:
        try:
            return unpack(data)[0]
        except struct.error:
            raise ValueError(f"expected {size} bytes, got {len(data)}") from None

    return PrimitiveSerde(name, writes, serialize, deserialize)


def _write_bytes(value: bytes | bytearray | memoryview) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"expected `bytes`, got {value!r} of type `{type(value).__name__}`")


def _write_boolean(value: bool) -> bytes:
    if value is True:
        return b"\x01"
    if value is False:
        return b"\x00"
    raise TypeError(f"expected `bool`, got {value!r} of type `{type(value).__name__}`")


def _read_boolean(data: bytes) -> bool:
    if data == b"\x01":
        return True
    if data == b"\x00":
        return False
    raise ValueError(f"expected one byte, 0 or 1, got {data!r}")


def _write_uuid(value: UUID) -> bytes:
    if isinstance(value, UUID):
        return str(value).encode()
    raise TypeError(f"expected `UUID`, got {value!r} of type `{type(value).__name__}`")


def _read_uuid(data: bytes) -> UUID:
    return UUID(data.decode())


def _write_void(value: None) -> bytes:
    raise TypeError(f"expected `None`, got {value!r} of type `{type(value).__name__}`")


def _read_void(data: bytes) -> None:
    raise ValueError(f"expected null, got {len(data)} bytes")


# The most frequent of all: no Python frame between the caller and the codec. Unlike Java's, it refuses bytes that
# are not UTF-8 instead of replacing them, so that a key never changes on its way through.
STRING: Serde[str] = PrimitiveSerde("string", "str", str.encode, cast("Callable[[bytes], str]", bytes.decode))
BYTES: Serde[bytes] = PrimitiveSerde("bytes", "bytes", _write_bytes, bytes)
BYTE_BUFFER: Serde[memoryview] = PrimitiveSerde("byte_buffer", "memoryview", _write_bytes, memoryview)
LONG: Serde[int] = _number("long", "int", "q")
INTEGER: Serde[int] = _number("integer", "int", "i")
SHORT: Serde[int] = _number("short", "int", "h")
DOUBLE: Serde[float] = _number("double", "float", "d")
FLOAT: Serde[float] = _number("float", "float", "f")
BOOLEAN: Serde[bool] = PrimitiveSerde("boolean", "bool", _write_boolean, _read_boolean)
UUID_TEXT: Serde[UUID] = PrimitiveSerde("uuid", "UUID", _write_uuid, _read_uuid)
VOID: Serde[None] = PrimitiveSerde("void", "None", _write_void, _read_void)


class PlainSerdes:
    """Kafka's built-in formats for single values, under Kafka's names."""

    @staticmethod
    def string() -> Serde[str]:
        """UTF-8 text."""
        return STRING

    @staticmethod
    def bytes() -> Serde[bytes]:
        """Bytes as they are."""
        return BYTES

    @staticmethod
    def byte_buffer() -> Serde[memoryview]:
        """Bytes as they are, read without a copy."""
        return BYTE_BUFFER

    @staticmethod
    def long() -> Serde[int]:
        """Eight bytes, big-endian: what `int` means."""
        return LONG

    @staticmethod
    def integer() -> Serde[int]:
        """Four bytes, big-endian."""
        return INTEGER

    @staticmethod
    def short() -> Serde[int]:
        """Two bytes, big-endian."""
        return SHORT

    @staticmethod
    def double() -> Serde[float]:
        """Eight bytes, IEEE 754: what `float` means."""
        return DOUBLE

    @staticmethod
    def float() -> Serde[float]:
        """Four bytes, IEEE 754."""
        return FLOAT

    @staticmethod
    def boolean() -> Serde[bool]:
        """One byte, 0 or 1."""
        return BOOLEAN

    @staticmethod
    def uuid() -> Serde[UUID]:
        """The 36 characters of a UUID."""
        return UUID_TEXT

    @staticmethod
    def void() -> Serde[None]:
        """Nothing but nulls."""
        return VOID
