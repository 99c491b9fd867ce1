"""The bytes of Kafka's own serializers, recorded: ours write the same and read them back."""

from __future__ import annotations

import json
import pickle
import struct
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from headrace import Serdes, Windowed
from headrace.serdes import ListSerde, Serde, SessionWindowedSerde, TimeWindowedSerde

CASES = json.loads((Path(__file__).parent / "fixtures" / "serdes.json").read_text())


def serde_of(name: str) -> Serde[Any]:
    kind, _, inner = name.partition(":")
    if kind == "list":
        return Serdes.list(serde_of(inner))
    if kind == "time-windowed":
        return TimeWindowedSerde(Serdes.string(), 10)
    if kind == "session-windowed":
        return SessionWindowedSerde(Serdes.string())
    found: Serde[Any] = getattr(Serdes, name)()
    return found


def value_of(name: str, value: Any) -> Any:
    kind, _, inner = name.partition(":")
    if value is None:
        return None
    match kind:
        case "list":
            return [value_of(inner, each) for each in value]
        case "float":
            return struct.unpack(">f", int(value, 16).to_bytes(4, "big"))[0]
        case "double":
            return struct.unpack(">d", int(value, 16).to_bytes(8, "big"))[0]
        case "uuid":
            return UUID(value)
        case "bytes" | "byte_buffer":
            return bytes.fromhex(value)
        case "string":
            return value.encode("utf-16", "surrogatepass").decode("utf-16")
        case "time-windowed" | "session-windowed":
            return Windowed(value_of("string", value[0]), value[1], value[2])
    return value


@pytest.mark.parametrize(("name", "value", "data"), CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])
def test_the_bytes_are_kafkas(name: str, value: Any, data: str) -> None:
    serde, expected = serde_of(name), value_of(name, value)
    assert serde.serialize(expected).hex() == data
    back = serde.deserialize(bytes.fromhex(data))
    assert back == expected
    assert serde.serialize(back).hex() == data
    assert pickle.loads(pickle.dumps(serde)) == serde


def test_every_kind_is_there() -> None:
    assert {case[0].partition(":")[0] for case in CASES} == {
        "string", "bytes", "byte_buffer", "short", "integer", "long", "float", "double", "boolean", "uuid", "list",
        "time-windowed", "session-windowed",
    }  # fmt: skip


def test_a_list_that_ends_in_an_empty_text() -> None:
    """Kafka's own deserializer stumbles over it."""
    texts = Serdes.list(str)
    assert texts.deserialize(texts.serialize(["a", ""])) == ["a", ""]


def test_lists_of_lists() -> None:
    numbers = Serdes.list(Serdes.list(int))
    assert numbers.deserialize(numbers.serialize([[1, None], None, []])) == [[1, None], None, []]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected 1 bytes from 0 on, got 0"),
        (b"\x07", "a list begins with 0 or 1, got 7"),
        (b"\x01\x00\x00\x00\x01\x00\x00\x00\x05ab", "expected 5 bytes from 9 on, got 2"),
        (
            b"\x00\x00\x00\x00\x00\x00\x00\x00\x00",
            r"a list of entries of a fixed width, which Serdes.string\(\)",
        ),
    ],
)
def test_what_is_no_list(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Serdes.list(str).deserialize(data)


def test_what_cannot_be_written_as_a_list() -> None:
    with pytest.raises(TypeError, match="expected `list`, got 'ab' of type `str`"):
        Serdes.list(str).serialize("ab")  # type: ignore[arg-type]
    assert repr(ListSerde(Serdes.long())) == "Serdes.list(Serdes.long())"
