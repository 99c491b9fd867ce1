"""What a worker prints is kept with the task and the record, up to a limit, and between tasks nothing is kept."""

from __future__ import annotations

import sys
from io import BytesIO, StringIO, TextIOWrapper

import pytest

from headrace.record import RecordMetadata, TaskId
from headrace.spark import prints
from headrace.spark.commit import decode
from headrace.spark.prints import Capture, Line, Prints
from headrace.spark.rows import Row


def printed(rows: list[Row]) -> Prints:
    (row,) = rows
    assert row.kind == "print"
    return decode(row.payload, Prints)


def test_lines_are_marked_with_the_task_and_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = StringIO()
    monkeypatch.setattr(sys, "stdout", beside)
    capture = Capture(beside)
    place = RecordMetadata("orders", 1, 17)
    capture.begin(TaskId(0, 1), lambda: place)
    print("first", 1)
    print("half", end="")
    place = RecordMetadata("orders", 1, 18)
    print(" a line", flush=True)
    print("two\nlines")
    found = printed(capture.row(0))
    assert found.task == "0_1"
    assert found.lines == [
        Line("first 1", "orders", 1, 17),
        Line("half a line", "orders", 1, 18),
        Line("two", "orders", 1, 18),
        Line("lines", "orders", 1, 18),
    ]
    assert beside.getvalue() == ""


def test_without_a_record_the_task_alone_is_named_and_an_open_line_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    beside = StringIO()
    monkeypatch.setattr(sys, "stdout", beside)
    capture = Capture(beside)
    capture.begin(TaskId(2, 0), lambda: None)
    print("tick", end="")
    assert str(printed(capture.row(0))) == "2_0 | tick"


def test_a_task_that_prints_nothing_sends_nothing_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = StringIO()
    monkeypatch.setattr(sys, "stdout", beside)
    capture = Capture(beside)
    capture.begin(TaskId(0, 0), lambda: None)
    assert capture.row(0) == []
    capture.begin(TaskId(0, 0), lambda: None)
    print("only once")
    assert len(printed(capture.row(0)).lines) == 1
    assert capture.row(0) == []


def test_what_is_no_text_and_what_the_terminal_does_not_have_is_spelt_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    beside = TextIOWrapper(BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", beside)
    capture = Capture(beside)
    capture.begin(TaskId(0, 0), lambda: None)
    print("caf\udce9 ü")
    found = printed(capture.row(0))
    assert found.lines == [Line("caf\\udce9 ü")]
    prints.show([found])
    assert beside.buffer.getvalue() == b"0_0 | caf\\udce9 \\xfc\n"  # type: ignore[attr-defined]


def test_between_tasks_everything_is_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = StringIO()
    monkeypatch.setattr(sys, "stdout", beside)
    capture = Capture(beside)
    capture.begin(TaskId(0, 0), lambda: None)
    assert sys.stdout is capture
    capture.row(0)
    assert sys.stdout is beside
    print("free", file=capture, flush=True)
    assert beside.getvalue() == "free\n"


def test_beyond_the_limit_lines_are_only_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prints, "LIMIT", 20)
    beside = StringIO()
    monkeypatch.setattr(sys, "stdout", beside)
    capture = Capture(beside)
    capture.begin(TaskId(0, 0), lambda: None)
    for number in range(100):
        print(f"line {number}")
    found = printed(capture.row(0))
    assert [line.text for line in found.lines] == ["line 0", "line 1"]
    assert found.more == 98
    assert str(found).endswith("0_0 | … and 98 lines more in this batch")
    capture.begin(TaskId(0, 0), lambda: None)
    print("again")
    assert printed(capture.row(0)).more == 0
    capture.begin(TaskId(0, 0), lambda: None)
    print("x" * 30)
    print("after it")
    found = printed(capture.row(0))
    assert ([line.text for line in found.lines], found.more) == (["after it"], 1)
