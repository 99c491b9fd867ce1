"""Changes have the bytes of Kafka Streams: what its own serializer wrote is written out here."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from headrace import StreamsBuilder, StreamsConfig
from headrace.errors import MissingSerdeError
from headrace.serdes import ChangeSerde, Serdes, resolve
from headrace.testing import TopologyTestDriver

SERDE = ChangeSerde(Serdes.string())


@pytest.mark.parametrize(
    ("new", "old", "data"),
    [
        ("new", None, b"new\x01"),
        (None, "old", b"old\x00"),
        ("new", "old", b"\x06newold\x02"),
        ("", "old", b"\x00old\x02"),
        ("n" * 63, "o", b"\x7e" + b"n" * 63 + b"o\x02"),
        ("n" * 64, "o", b"\x80\x01" + b"n" * 64 + b"o\x02"),
        ("h" * 9000, "é", b"\xd0\x8c\x01" + b"h" * 9000 + "é".encode() + b"\x02"),
    ],
)
def test_the_bytes_are_kafkas(new: Any, old: Any, data: bytes) -> None:
    assert SERDE.serialize((new, old, True)) == data
    assert SERDE.deserialize(data) == (new, old, True)


@pytest.mark.parametrize(
    "data", [b"", b"a\x03", b"\x02", b"\x06ne\x02", b"\xff\xff\xff\xff\xff\x02", b"\x05ab\x02"]
)
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"last byte|damaged"):
        SERDE.deserialize(data)


def test_a_change_has_a_value() -> None:
    with pytest.raises(ValueError, match="got neither"):
        SERDE.serialize((None, None, True))


def test_it_travels_and_is_equal_to_its_like() -> None:
    copy = pickle.loads(pickle.dumps(SERDE))
    assert copy == SERDE
    assert hash(copy) == hash(SERDE)
    assert copy.serialize(("a", None, True)) == b"a\x01"
    assert repr(copy) == "ChangeSerde(Serdes.string())"


def test_without_an_inner_serde_it_takes_the_default() -> None:
    empty = ChangeSerde(None)
    assert resolve(empty, Serdes.long()) == ChangeSerde(Serdes.long())
    assert resolve(empty, None) is None
    with pytest.raises(MissingSerdeError):
        empty.serialize(("a", None, True))
    with pytest.raises(MissingSerdeError):
        empty.deserialize(b"a\x01")


def test_the_repartition_topic_holds_kafkas_bytes() -> None:
    builder = StreamsBuilder()
    table = builder.table("in", value=str, store="rows")
    table.group_by(lambda key, value: (value[0], value), key=str, value=str).count(store="counts")
    with TopologyTestDriver(builder.build(), StreamsConfig(application_id="app")) as driver:
        rows = driver.input("in")
        for value in ("a1", "a2", "b3", None):
            rows.pipe("k", value, timestamp=5)
        written = [(key, value) for key, value, *_ in driver.produced("app-counts-repartition")]
    assert written == [
        (b"a", b"a1\x01"),
        (b"a", b"\x04a2a1\x02"),
        (b"a", b"a2\x00"),
        (b"b", b"b3\x01"),
        (b"b", b"b3\x00"),
    ]
