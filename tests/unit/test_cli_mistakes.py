"""Files, settings and options that are not what a command needs: one clear message, and nothing is made or changed."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from shell import Shell

from headrace.cli.common import is_confirmed
from headrace.errors import ConfigError

GOOD = """
from headrace import StreamsBuilder

builder = StreamsBuilder()
builder.stream("in", value=str).group_by_key().count(store="counts").to_stream().to("out")
"""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    path, modules = list(sys.path), set(sys.modules)
    yield Shell(tmp_path)
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def refused(shell: Shell, *arguments: str) -> str:
    """The message, if there is one and nothing else."""
    shell(*arguments)
    assert shell.code == 1, shell.err
    assert shell.out == ""
    return shell.err.removeprefix("headrace: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topology = 3", "`topology` of `an_app` is no topology, got 3: end the file with"),
        ("x = 1", "`an_app` has no topology: end the file with `topology = builder.build()`"),
        (
            "def topology(): return 1 / 0",
            "`topology()` of `an_app` raised ZeroDivisionError: division by zero",
        ),
        ("def topology(a): return a", "`topology()` of `an_app` raised TypeError: "),
        ("def (", "importing `an_app.py` raised SyntaxError: "),
        (GOOD + "config = 5", "`config` of `an_app` must be a `StreamsConfig` or a dict of settings"),
        (GOOD + "config = {1: 2}", "`config` of `an_app` must be a `StreamsConfig` or a dict of settings"),
        (GOOD + "config = {'commit_intervall': 2}", "did you mean `commit_interval`? (in the options, or in"),
    ],
)
def test_files_without_a_topology_or_settings(shell: Shell, text: str, message: str) -> None:
    (shell.directory / "an_app.py").write_text(text)
    found = refused(shell, "explain", "an_app.py")
    assert found.startswith(message) or message in found
    assert "runpy" not in found, "the line is the user's, or none"


def test_what_builds_a_topology_may_be_a_function_or_a_builder(shell: Shell) -> None:
    (shell.directory / "by_builder.py").write_text(GOOD + 'config = {"topology_optimization": "all"}')
    assert "Source: KSTREAM-SOURCE-0000000000 (topics: [in])" in shell("describe", "by_builder.py")
    (shell.directory / "by_function.py").write_text(GOOD + "def topology(): return builder.build()")
    assert "Source: KSTREAM-SOURCE-0000000000 (topics: [in])" in shell("describe", "by_function.py")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["explain", "--partitions", "im=3"],
            "`--partitions im=3`: the topology neither reads nor writes `im`",
        ),
        (["explain", "--partitions", "in=²"], "`--partitions` takes TOPIC=NUMBER, got in='²'"),
        (["explain", "--svg", "none/x.svg"], "`none/x.svg`: no such file or directory"),
        (["describe", "--output", "none/x.txt"], "`none/x.txt`: no such file or directory"),
        (["standby"], "there is no log in `.headrace/log`, so application `an-app` has never run there"),
        (["reset"], "there is no log in `.headrace/log`, so application `an-app` has never run there"),
        (["reset", "--to-offset=-3"], "`--to-offset` is a number of zero or more, got -3"),
        (["reset", "--input-topics", "in"], "`--input-topics` says for which inputs a beginning holds"),
        (["drill", "restore"], "there is no log in `.headrace/log`, so application `an-app` has never run"),
        (["drill", "restore", "--processes", "0"], "`--processes` is a number of one or more, got 0"),
    ],
)
def test_options_that_make_no_sense(shell: Shell, arguments: list[str], message: str) -> None:
    (shell.directory / "an_app.py").write_text(GOOD)
    assert refused(shell, *arguments, "an_app.py").startswith(message)
    assert not (shell.directory / ".headrace").exists()


def test_no_answer_is_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO())
    with pytest.raises(ConfigError, match="reset it\\? there is no terminal to ask on: say `--yes`"):
        is_confirmed(Namespace(yes=False), "reset it?")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert not is_confirmed(Namespace(yes=False), "reset it?"), "Ctrl-D"
    assert is_confirmed(Namespace(yes=True), "reset it?")


def test_places_that_are_none(shell: Shell) -> None:
    shell("topics", "create", "t")
    assert refused(shell, "consume", "t", "--partition", "-1").startswith("topic `t` has partitions 0 to 3")
    for name in ("", "x" * 600):
        assert refused(shell, "consume", name).startswith("a topic's name has 1 to 249 letters")
        assert refused(shell, "topics", "describe", name).startswith("a topic's name has 1 to 249 letters")
