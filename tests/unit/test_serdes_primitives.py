"""Plain values have the bytes of Kafka's own serializers."""

from __future__ import annotations

import math
import pickle
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.serdes import Serde, Serdes, serde_for

SOME_UUID = UUID("0f5f1d3c-3a51-4f0e-9f0a-9a6a3c1f2b4d")

KAFKA_BYTES = [
    (Serdes.string(), "grüße", "grüße".encode()),
    (Serdes.bytes(), b"\x00\xff", b"\x00\xff"),
    (Serdes.short(), -2, b"\xff\xfe"),
    (Serdes.integer(), 258, b"\x00\x00\x01\x02"),
    (Serdes.long(), 1, b"\x00\x00\x00\x00\x00\x00\x00\x01"),
    (Serdes.long(), -1, b"\xff" * 8),
    (Serdes.float(), 1.5, b"\x3f\xc0\x00\x00"),
    (Serdes.double(), 1.5, b"\x3f\xf8\x00\x00\x00\x00\x00\x00"),
    (Serdes.boolean(), True, b"\x01"),
    (Serdes.boolean(), False, b"\x00"),
    (Serdes.uuid(), SOME_UUID, str(SOME_UUID).encode()),
]


@pytest.mark.parametrize(("serde", "value", "data"), KAFKA_BYTES)
def test_a_value_has_kafkas_bytes(serde: Serde[object], value: object, data: bytes) -> None:
    assert serde.serialize(value) == data
    assert serde.deserialize(data) == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_long_survives(value: int) -> None:
    assert serde_for(int).deserialize(serde_for(int).serialize(value)) == value


@given(st.floats())
def test_every_float_survives(value: float) -> None:
    back = serde_for(float).deserialize(serde_for(float).serialize(value))
    assert back == value or (math.isnan(back) and math.isnan(value))


@given(st.text())
def test_every_text_survives(value: str) -> None:
    assert serde_for(str).deserialize(serde_for(str).serialize(value)) == value


WRONG_VALUES = [
    (Serdes.string(), 5),
    (Serdes.bytes(), "a"),
    (Serdes.long(), "5"),
    (Serdes.long(), 1.5),
    (Serdes.long(), 2**63),
    (Serdes.integer(), 2**31),
    (Serdes.short(), 40_000),
    (Serdes.float(), 1e300),
    (Serdes.double(), "1.5"),
    (Serdes.boolean(), 1),
    (Serdes.uuid(), str(SOME_UUID)),
    (Serdes.void(), 1),
]


@pytest.mark.parametrize(("serde", "value"), WRONG_VALUES)
def test_a_value_of_another_type_or_size_is_refused(serde: Serde[object], value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        serde.serialize(value)


WRONG_BYTES = [
    (Serdes.string(), b"\xff\xfe"),
    (Serdes.long(), b"17"),
    (Serdes.long(), b""),
    (Serdes.integer(), b"\x00" * 8),
    (Serdes.boolean(), b"\x02"),
    (Serdes.uuid(), b"not a uuid"),
    (Serdes.void(), b"x"),
]


@pytest.mark.parametrize(("serde", "data"), WRONG_BYTES)
def test_bytes_of_another_format_are_refused(serde: Serde[object], data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        serde.deserialize(data)


@pytest.mark.parametrize("serde", [serde for serde, _, _ in KAFKA_BYTES])
def test_a_serde_is_the_same_object_after_pickling(serde: Serde[object]) -> None:
    assert pickle.loads(pickle.dumps(serde)) is serde


def test_a_serde_can_be_made_of_two_functions() -> None:
    serde: Serde[int] = Serde.of(lambda n: str(n).encode(), int)
    assert serde.deserialize(serde.serialize(17)) == 17
