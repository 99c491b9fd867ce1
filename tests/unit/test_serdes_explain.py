"""A failed write or read is explained in one line, with a guess at the reason."""

from __future__ import annotations

from typing import Any

import pytest
from serde_models import Address, Order

from headrace.serdes import Serde, Serdes, explain_read, explain_write, serde_for


def written(serde: Serde[Any], value: Any) -> str:
    with pytest.raises((TypeError, ValueError)) as caught:
        serde.serialize(value)
    return explain_write(serde, value, caught.value)


def read(serde: Serde[Any], data: bytes) -> str:
    with pytest.raises(ValueError, match=r".") as caught:
        serde.deserialize(data)
    return explain_read(serde, data, caught.value)


def test_a_wrong_type_is_named_with_the_fix() -> None:
    assert written(Serdes.string(), 5).startswith(
        "Serdes.string() writes `str`, got 5 of type `int`: convert it"
    )
    assert "got 9223372036854775808 of type `int`" in written(Serdes.long(), 2**63)
    assert "JsonSerde(dict) could not write it" in written(serde_for(dict), {"a": object()})


def test_text_where_a_number_should_be_is_recognised() -> None:
    assert read(Serdes.long(), b"17").endswith("it looks like text: was it written as `str`?")


def test_a_number_of_another_width_is_recognised() -> None:
    assert "4 bytes are the size of an integer or a float" in read(Serdes.long(), b"\x00\x00\x00\x05")


def test_a_schema_registrys_mark_is_recognised() -> None:
    assert "schema registry" in read(serde_for(Order), b"\x00\x00\x00\x00\x07payload")


def test_a_missing_field_is_named_on_one_line() -> None:
    assert "missing required field `amount`" in read(serde_for(Order), b'{"customer": "a"}')
    assert "\n" not in read(serde_for(Address), b'{"street": 1}')


def test_long_values_are_cut_short() -> None:
    assert len(read(serde_for(Order), b"x" * 10_000)) < 300
