"""The command line: topics, produce and consume on the embedded log."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from shell import COMMAND, Shell

from headrace.cli.main import COMMANDS, main


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_topics_are_made_listed_described_and_deleted(shell: Shell) -> None:
    shell("topics", "create", "orders", "--partitions", "2", "--config", "cleanup.policy=compact")
    shell("topics", "create", "alerts")
    assert shell("topics", "list") == "alerts\t4\norders\t2\n"
    shell("produce", "orders", stdin="a:1\na:2\n")
    lines = [line.split() for line in shell("topics", "describe", "orders").splitlines()]
    assert ["topic", "orders"] in lines
    assert ["config", "cleanup.policy=compact"] in lines
    assert lines[-2:] == [["0", "0", "2"], ["1", "0", "0"]]
    assert shell("topics", "delete", "alerts") == "deleted `alerts`\n"
    assert shell("topics", "list") == "orders\t2\n"
    assert (shell.directory / ".headrace" / "log").is_dir()


def test_settings_of_topics_are_altered(shell: Shell) -> None:
    shell("topics", "create", "t", "--config", "retention.ms=1000", "--config", "retention.bytes=5000")
    assert shell("topics", "alter", "t", "--config", "retention.ms=", "--config", "retention.bytes=7") == (
        "altered `t`\n"
    )
    lines = [line for line in shell("topics", "describe", "t").splitlines() if line.startswith("config")]
    assert lines == ["config     retention.bytes=7"]
    shell("topics", "alter", "t")
    assert (shell.code, shell.err.startswith("headrace: nothing to change")) == (1, True)
    shell("topics", "alter", "t", "--config", "retention.bites=7")
    assert "did you mean `retention.bytes`?" in shell.err


def test_lines_of_key_and_value(shell: Shell) -> None:
    """The first separator counts; a line without one has no key; empty lines are nothing."""
    shell("topics", "create", "t", "--partitions", "1")
    shell.process("produce", "t", stdin='a:1\n\nb:{"x":"y:z"}\nno key\nlast:line')
    assert "4 records written to `t`" in shell.err
    assert shell.process("consume", "t") == 'a\t1\nb\t{"x":"y:z"}\nnull\tno key\nlast\tline\n'
    shell("produce", "t", "--separator", "=>", "--quiet", stdin="c:d=>e\n")
    assert shell.err == ""
    assert shell("consume", "t").endswith("c:d\te\n")


def test_lines_may_end_as_they_do_elsewhere(shell: Shell) -> None:
    shell.process("produce", "t", "--partitions", "1", stdin="a:1\r\nb:2\r\n")
    assert shell("consume", "t") == "a\t1\nb\t2\n"


def test_lines_of_json(shell: Shell) -> None:
    records = [
        {"key": "k", "value": {"amount": 5}, "timestamp": 17, "headers": {"trace": "abc", "empty": None}},
        {"key": "k", "timestamp": 18},
        {"value": "text", "timestamp": 19},
    ]
    shell("topics", "create", "t", "--partitions", "1")
    shell("produce", "t", "--json", stdin="\n".join(map(json.dumps, records)))
    shown = [json.loads(line) for line in shell("consume", "t", "--json").splitlines()]
    assert shown == [
        {
            "partition": 0,
            "offset": 0,
            "timestamp": 17,
            "key": "k",
            "value": '{"amount":5}',
            "headers": {"trace": "abc", "empty": None},
        },
        {"partition": 0, "offset": 1, "timestamp": 18, "key": "k", "value": None},
        {"partition": 0, "offset": 2, "timestamp": 19, "key": None, "value": "text"},
    ]


def test_types_of_keys_and_values(shell: Shell) -> None:
    shell("produce", "t", "--key-type", "long", "--value-type", "double", stdin="7:2.5\n")
    assert shell("consume", "t", "--key-type", "hex", "--value-type", "hex") == (
        "0000000000000007\t4004000000000000\n"
    )
    assert shell("consume", "t", "--key-type", "long", "--value-type", "double") == "7\t2.5\n"
    assert shell("consume", "t") == "\0\0\0\0\0\0\0\x07\t@\x04\0\0\0\0\0\0\n"
    shell("consume", "t", "--key-type", "int")
    assert shell.code == 1
    assert "the key of partition" in shell.err
    assert "`--key-type`" in shell.err


def test_a_topic_is_made_on_first_use(shell: Shell) -> None:
    shell("produce", "t", "--partitions", "3", stdin="a:1\n")
    assert "created `t` with 3 partitions" in shell.err
    assert shell("topics", "list") == "t\t3\n"


def test_consume_begins_and_ends_where_it_is_told(shell: Shell) -> None:
    shell("topics", "create", "t", "--partitions", "2")
    lines = "\n".join(json.dumps({"key": str(i), "value": str(i), "timestamp": i + 1}) for i in range(20))
    shell("produce", "t", "--json", stdin=lines)
    values = [int(line.split("\t")[1]) for line in shell("consume", "t", "--from-beginning").splitlines()]
    assert values == list(range(20)), "both partitions, by time"
    assert shell("consume", "t", "--max", "3").count("\n") == 3
    one, other = (shell("consume", "t", "--partition", number).count("\n") for number in "01")
    assert one + other == 20


def test_follow_shows_new_records_only(shell: Shell) -> None:
    shell("topics", "create", "t", "--partitions", "1")
    shell("produce", "t", stdin="old:1\n")
    following = [*COMMAND, "consume", "t", "--follow"]
    new = subprocess.Popen([*following, "--max", "2"], cwd=shell.directory, text=True, stdout=subprocess.PIPE)
    every = [*following, "--from-beginning", "--max", "3"]
    all_of_them = subprocess.Popen(every, cwd=shell.directory, text=True, stdout=subprocess.PIPE)
    while new.poll() is None:  # whenever it begins, it must end after two records that come later
        shell("produce", "t", "--quiet", stdin="new:2\n")
    assert new.communicate()[0] == "new\t2\nnew\t2\n"
    assert all_of_them.communicate(timeout=30)[0] == "old\t1\nnew\t2\nnew\t2\n"


def test_whoever_has_seen_enough_may_leave(shell: Shell) -> None:
    shell.process("produce", "t", "--no-key", "--quiet", stdin="line\n" * 50_000)
    consumer = " ".join([*COMMAND, "consume", "t"])
    done = subprocess.run(
        f"{consumer} | head -1", shell=True, cwd=shell.directory, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("null\tline\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("topics", "list"), r"there is no log in `.headrace/log`"),
        (("consume", "t"), r"there is no log in `.headrace/log`"),
        (("topics", "create", "a b"), "a topic's name"),
        (("topics", "create", "t", "--config", "nonsense"), "`--config` takes NAME=VALUE, got 'nonsense'"),
        (("topics", "create", "t", "--config", "cleanup.policy=shrink"), "`cleanup.policy`"),
        (("topics", "create", "t", "--partitions", "0"), "at least one partition"),
    ],
)
def test_errors_are_one_clear_message(shell: Shell, arguments: tuple[str, ...], message: str) -> None:
    shell(*arguments)
    assert shell.code == 1
    assert shell.err.startswith("headrace: ")
    assert message in shell.err
    assert shell.out == ""


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (("produce", "t"), 'a:1\n{"b":1}\n', "line 2 of the input cannot be used: it begins with `{`"),
        (("produce", "t", "--json"), '{"value":1}\n{"valu":1}\n', "line 2 of the input cannot be used"),
        (("produce", "t", "--json"), '{"value":1}\n{"value":\n', "line 2 of the input cannot be used"),
        (("produce", "t", "--value-type", "long"), "a:1\na:x\n", "line 2 of the input cannot be used"),
    ],
)
def test_a_bad_line_is_named_and_those_before_it_are_kept(
    shell: Shell, arguments: tuple[str, ...], stdin: str, message: str
) -> None:
    shell(*arguments, stdin=stdin)
    assert shell.code == 1
    assert message in shell.err
    assert "1 record written" in shell.err
    assert shell("consume", "t").count("\n") == 1


def test_topics_that_do_not_exist_are_named(shell: Shell) -> None:
    shell("topics", "create", "t")
    for command in (["consume", "x"], ["topics", "describe", "x"], ["topics", "delete", "x"]):
        shell(*command)
        assert shell.code == 1
        assert "topic `x` does not exist" in shell.err
    shell("consume", "t", "--partition", "9")
    assert "`t` has partitions 0 to 3, got partition 9" in shell.err
    shell("consume", "t", "--max", "0")
    assert "`--max` is at least 1, got 0" in shell.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: headrace {command}" in capsys.readouterr().out


def test_wrong_usage_is_told_apart(shell: Shell) -> None:
    shell("topics")
    assert shell.code == 2
    shell.process("topics", "list")
    assert shell.code == 1
    shell.process("dance")
    assert shell.code == 2
    assert "dance" in shell.err
