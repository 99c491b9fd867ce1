"""What `headrace run` writes besides the progress of a query: states, notes of the library, what users print."""

from __future__ import annotations

import logging
from io import StringIO

import pytest

from headrace import State, Streams, StreamsBuilder
from headrace.cli.terminal import Status, Terminal
from headrace.errors import BrokerNotReachableError
from headrace.spark.prints import Line, Prints

logger = logging.getLogger("headrace")


class Tty(StringIO):
    def isatty(self) -> bool:
        return True


def an_application() -> Streams:
    builder = StreamsBuilder()
    builder.stream("in", value=int).to("out")
    return Streams(builder.build(), application_id="app")


def test_what_the_library_notes_is_a_line_of_its_own() -> None:
    out = StringIO()
    terminal = Terminal(an_application(), out)
    terminal.open()
    logger.info("nobody's business")
    logger.warning("the query was lost: %s", "a worker died")
    try:
        raise ValueError("no")
    except ValueError:
        logger.exception("a listener raised")
    terminal.close()
    assert out.getvalue() == (
        "headrace: warning: the query was lost: a worker died\nheadrace: error: a listener raised (ValueError('no'))\n"
    )
    assert terminal._notes not in logger.handlers
    assert logger.propagate


def test_verbose_shows_where_an_error_came_from() -> None:
    out = StringIO()
    terminal = Terminal(an_application(), out, verbose=True)
    terminal.open()
    try:
        raise ValueError("no")
    except ValueError:
        logger.exception("a listener raised")
    terminal.close()
    assert "headrace: error: a listener raised\nTraceback" in out.getvalue()


def test_states_and_prints_do_not_mix_with_the_live_line(capsys: pytest.CaptureFixture[str]) -> None:
    out = Tty()
    terminal = Terminal(an_application(), out)
    terminal._shown = "app is created"
    terminal.hint = "once more stops it at once"
    terminal._state(State.PENDING_SHUTDOWN, State.RUNNING)
    terminal._shown = "app is pending shutdown"
    terminal._prints([Prints("0_1", [Line("hello", "in", 1, 7)])])
    assert out.getvalue() == (
        "\r\033[2Kheadrace: app is pending shutdown\nheadrace: once more stops it at once\n\r\033[2K"
    )
    assert capsys.readouterr().out == "0_1 in-1@7 | hello\n"


class Gone(StringIO):
    """A pipe whose reader has seen enough."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def test_whoever_tells_something_does_not_fail_because_nobody_reads_it() -> None:
    terminal = Terminal(an_application(), Gone())
    terminal.open()
    logger.warning("the query was lost: %s", "a worker died")
    terminal.note("a line")
    terminal.close()


def test_a_log_that_does_not_answer_leaves_the_line_without_a_lag() -> None:
    streams = an_application()
    terminal = Terminal(streams, StringIO())

    def no_answer() -> int:
        raise BrokerNotReachableError("no broker answers")

    streams.lag = no_answer  # type: ignore[method-assign]
    streams._engine.life.state = State.RUNNING
    assert terminal.status().lag is None


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (Status("app", State.CREATED), "app is created"),
        (Status("app", State.REBALANCING, replaced=2), "app is rebalancing, started again 2 times"),
        (
            Status("app", State.RUNNING, 5, 1.0, commit=3, age=0.5, paused=True),
            "app is paused: 1 records/s, 5 in all, commit 3 0.50 s ago",
        ),
        (
            Status("app", State.RUNNING, done=0, total=0),
            f"app {'█' * 24} 100 %, 0 of 0 records, 0/s",
        ),
        (
            Status("app", State.NOT_RUNNING, 9, 3.0, commit=3, age=2, done=9, total=9),
            "app is not running: 3 records/s, 9 in all, commit 3 2 s ago",
        ),
    ],
)
def test_every_state_has_its_words(status: Status, text: str) -> None:
    assert str(status) == text
