"""Records, and the generic classes that users write with their types."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from headrace import Materialized, Record


def test_generic_classes_can_be_made_with_their_types() -> None:
    assert Record[str, int]("a", 1, 2) == Record("a", 1, 2)
    assert Materialized[str, int]("counts") == Materialized("counts")


def test_a_record_is_changed_by_making_another() -> None:
    record = Record("a", 1, 2, (("h", b"x"),))
    assert record.with_key("b") == Record("b", 1, 2, (("h", b"x"),))
    assert record.with_timestamp(3).with_headers(()) == Record("a", 1, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.key = "b"  # type: ignore[misc]


def test_a_record_travels_between_processes() -> None:
    record = Record("a", 1, 2, (("h", None),))
    assert pickle.loads(pickle.dumps(record)) == record
