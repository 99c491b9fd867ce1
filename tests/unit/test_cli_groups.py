"""`headrace consume` and `produce` beyond single lines: groups, Ctrl-C, broken pipes, what comes out goes in again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from shell import COMMAND, Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def lines(count: int, first: int = 0) -> str:
    """Records whose times are their numbers."""
    numbers = range(first, first + count)
    return "".join(json.dumps({"key": str(i), "value": str(i), "timestamp": i + 1}) + "\n" for i in numbers)


def values(out: str) -> list[int]:
    return [int(line.split("\t")[1]) for line in out.splitlines()]


def start(shell: Shell, *arguments: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*COMMAND, *arguments], cwd=shell.directory, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


def test_a_group_goes_on_where_it_stopped(shell: Shell) -> None:
    shell("topics", "create", "t", "--partitions", "2")
    shell("produce", "t", "--json", stdin=lines(10))
    assert values(shell("consume", "t", "--group", "g", "--max", "4")) == [0, 1, 2, 3]
    assert values(shell("consume", "t", "--group", "g")) == [4, 5, 6, 7, 8, 9]
    assert shell("consume", "t", "--group", "g") == ""
    assert values(shell("consume", "t", "--group", "other", "--max", "1")) == [0]
    assert values(shell("consume", "t", "--group", "g", "--reset", "--max", "2")) == [0, 1]
    assert values(shell("consume", "t", "--group", "g", "--max", "1")) == [2]
    assert values(shell("consume", "t")) == list(range(10)), "without a group nothing is remembered"


def test_a_group_that_follows_begins_with_what_comes_next(shell: Shell) -> None:
    shell("topics", "create", "t", "--partitions", "1")
    shell("produce", "t", "--json", stdin=lines(3))
    assert shell("consume", "t", "--group", "g", "--follow", "--timeout", "0") == ""
    shell("consume", "t", "--group", "late", "--follow", "--from-beginning", "--timeout", "0")
    assert values(shell.out) == [0, 1, 2]


def test_two_commands_of_a_group_share_the_partitions(shell: Shell) -> None:
    """Both get something, nobody gets what the other has, and together they have everything."""
    shell("topics", "create", "t", "--partitions", "2")
    follow = [*COMMAND, "consume", "t", "--group", "g", "--follow", "--from-beginning", "--json"]
    files = [shell.directory / "one.out", shell.directory / "other.out"]
    processes = []
    produced = 0

    def seen() -> list[list[tuple[int, int]]]:
        rows = [[json.loads(line) for line in file.read_text().splitlines()] for file in files]
        return [[(row["partition"], row["offset"]) for row in part] for part in rows]

    try:
        for file in files:
            with file.open("w") as out:
                processes.append(subprocess.Popen(follow, cwd=shell.directory, stdout=out))
        deadline = time.monotonic() + 60
        while not all(file.stat().st_size for file in files):
            assert time.monotonic() < deadline
            shell("produce", "t", "--json", "--quiet", stdin=lines(10))
            produced += 10
        while sum(map(len, seen())) < produced:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for process in processes:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
    finally:
        for process in processes:
            process.kill()
            process.wait()
    one, other = seen()
    assert len({*one, *other}) == len(one) + len(other) == produced


def test_ctrl_c_ends_a_command_that_waits_cleanly(shell: Shell) -> None:
    shell("produce", "t", stdin="a:1\n")
    consumer = start(shell, "consume", "t", "--follow", "--from-beginning")
    assert consumer.stdout is not None
    assert consumer.stdout.readline() == "a\t1\n"
    consumer.send_signal(signal.SIGINT)
    out, err = consumer.communicate(timeout=30)
    assert (consumer.returncode, out, err) == (130, "", "")


def test_ctrl_c_at_a_producer_keeps_what_was_typed(shell: Shell) -> None:
    shell("topics", "create", "t", "--partitions", "1")
    producer = start(shell, "produce", "t")
    assert producer.stdin is not None
    producer.stdin.write("a:1\nb:2\nhalf a li")
    producer.stdin.flush()
    deadline = time.monotonic() + 30
    while shell("consume", "t") != "a\t1\nb\t2\n":
        assert time.monotonic() < deadline
    producer.send_signal(signal.SIGINT)
    _, err = producer.communicate(timeout=30)
    assert (producer.returncode, err) == (130, "headrace: 2 records written to `t`\n")
    assert shell("consume", "t") == "a\t1\nb\t2\n"


def test_what_a_broken_pipe_did_not_take_is_printed_by_the_next(shell: Shell) -> None:
    """A block is committed once it has left the process: the first one, far larger than a pipe, did not."""
    shell("topics", "create", "t", "--partitions", "1")
    shell("produce", "t", "--quiet", stdin="".join(f"k:{number:0100}\n" for number in range(20_000)))
    command = " ".join([*COMMAND, "consume", "t", "--group", "g"])
    done = subprocess.run(
        f"{command} | head -1", shell=True, cwd=shell.directory, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == (f"k\t{0:0100}\n", "")
    assert values(shell("consume", "t", "--group", "g")) == list(range(20_000))


def test_what_is_printed_as_json_can_be_read_back(shell: Shell) -> None:
    shell("topics", "create", "one", "--partitions", "3")
    shell("topics", "create", "other", "--partitions", "3")
    records = [
        {"key": "k", "value": {"amount": 5}, "timestamp": 17, "headers": {"trace": "abc", "empty": None}},
        {"key": "l", "timestamp": 18},
        {"value": "text", "timestamp": 19, "partition": 2},
        {"key": "k", "value": "elsewhere", "timestamp": 20, "partition": 0},
    ]
    shell("produce", "one", "--json", stdin="\n".join(map(json.dumps, records)))
    dump = shell("consume", "one", "--json")
    assert [json.loads(line)["partition"] for line in dump.splitlines()][2:] == [2, 0]
    shell("produce", "other", "--json", stdin=dump)
    assert shell("consume", "other", "--json") == dump


@pytest.mark.parametrize(
    ("options", "stdin", "message"),
    [
        ((), b"a:1\nb:\xff\xfe\n", "line 2 of the input is not UTF-8"),
        ((), b"a:1\nno key\n", "line 2 of the input cannot be used: topic `t` is compacted"),
        (("--json",), b'{"key":"a"}\n{"key":"a","partition":7}\n', "`t` has partitions 0 to 3, got 7"),
    ],
)
def test_lines_that_the_topic_cannot_take_are_named(
    shell: Shell, options: tuple[str, ...], stdin: bytes, message: str
) -> None:
    shell("topics", "create", "t", "--config", "cleanup.policy=compact")
    done = subprocess.run(
        [*COMMAND, "produce", "t", *options],
        input=stdin,
        cwd=shell.directory,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert message in done.stderr.decode()
    assert "1 record written" in done.stderr.decode()
    assert shell("consume", "t").count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--reset",), "`--reset` is for a group"),
        (("--timeout", "3"), "`--timeout` goes with `--follow`"),
        (("--group", ""), "a group has a name"),
    ],
)
def test_options_that_make_no_sense(shell: Shell, options: tuple[str, ...], message: str) -> None:
    shell("topics", "create", "t")
    shell("consume", "t", *options)
    assert shell.code == 1
    assert message in shell.err
    assert "test_cli_groups.py" not in shell.err, "no line of a program is shown: there is none"


def test_records_that_retention_took_before_the_group_read_them(shell: Shell) -> None:
    shell("topics", "create", "t", "--partitions", "1", "--config", "retention.bytes=0")
    for number in range(3):
        shell("produce", "t", "--json", "--quiet", stdin=lines(1, number))
        if number == 0:
            assert values(shell("consume", "t", "--group", "g")) == [0]
    log = shell.directory / ".headrace" / "log"
    os.utime(log / "maintenance", (0, 0))  # nobody has looked after the log for long
    shell("produce", "t", "--json", "--quiet", stdin=lines(1, 3))
    shell("consume", "t", "--group", "g")
    assert shell.code == 1
    assert "topic `t`, partition 0: group `g` wants offset 1, available are those from 3 on" in shell.err
    assert values(shell("consume", "t", "--group", "g", "--reset")) == [3]
