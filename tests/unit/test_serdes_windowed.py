"""Windowed keys have the bytes of Kafka Streams."""

from __future__ import annotations

import pickle

import pytest

from headrace.errors import MissingSerdeError
from headrace.record import Windowed
from headrace.serdes import Serdes, SessionWindowedSerde, TimeWindowedSerde, partition_bytes, resolve
from headrace.serdes.joined import JoinKeySerde

TIME = TimeWindowedSerde(Serdes.string(), size_ms=60_000)
SESSION = SessionWindowedSerde(Serdes.string())


def test_a_time_window_is_the_key_and_the_start() -> None:
    data = TIME.serialize(Windowed("ab", 258, 60_258))
    assert data == b"ab" + (258).to_bytes(8, "big")
    assert TIME.deserialize(data) == Windowed("ab", 258, 60_258)


def test_a_session_is_the_key_the_end_and_the_start() -> None:
    data = SESSION.serialize(Windowed("ab", 1, 2))
    assert data == b"ab" + (2).to_bytes(8, "big") + (1).to_bytes(8, "big")
    assert SESSION.deserialize(data) == Windowed("ab", 1, 2)


def test_a_windows_end_stops_at_the_highest_timestamp() -> None:
    forever = TimeWindowedSerde(Serdes.string(), size_ms=2**63 - 1)
    assert forever.deserialize(forever.serialize(Windowed("a", 5, 0))).end == 2**63 - 1


def test_an_empty_key_is_a_key() -> None:
    assert TIME.deserialize(TIME.serialize(Windowed("", 0, 60_000))) == Windowed("", 0, 60_000)


@pytest.mark.parametrize(("serde", "data"), [(TIME, b"1234567"), (SESSION, b"123456789012345")])
def test_bytes_that_are_too_short_are_refused(
    serde: TimeWindowedSerde[str] | SessionWindowedSerde[str], data: bytes
) -> None:
    with pytest.raises(ValueError, match=f"got {len(data)} bytes"):
        serde.deserialize(data)


def test_the_inner_key_alone_decides_the_partition() -> None:
    assert partition_bytes(TIME, TIME.serialize(Windowed("ab", 0, 60_000))) == b"ab"
    assert partition_bytes(SESSION, SESSION.serialize(Windowed("ab", 0, 9))) == b"ab"
    assert partition_bytes(Serdes.string(), b"ab") == b"ab"


def test_the_default_key_fills_a_windowed_serde_that_has_none() -> None:
    open_ended: TimeWindowedSerde[str] = TimeWindowedSerde(None, 60_000)
    assert resolve(open_ended, Serdes.string()) == TIME
    assert resolve(SessionWindowedSerde(None), Serdes.string()) == SESSION
    assert resolve(TIME, Serdes.long()) is TIME
    assert resolve(None, None) is None
    with pytest.raises(MissingSerdeError, match="has no serde"):
        open_ended.serialize(Windowed("a", 0, 60_000))


def test_windowed_serdes_survive_pickling() -> None:
    assert pickle.loads(pickle.dumps(TIME)) == TIME
    assert pickle.loads(pickle.dumps(SESSION)) == SESSION


def test_the_default_key_reaches_the_inside_of_a_key_inside_another() -> None:
    """An outer join of a windowed stream keeps records under keys of keys."""
    found = resolve(JoinKeySerde(SessionWindowedSerde(None)), Serdes.string())
    assert found == JoinKeySerde(SessionWindowedSerde(Serdes.string()))
    assert resolve(JoinKeySerde(SessionWindowedSerde(None)), None) is None
