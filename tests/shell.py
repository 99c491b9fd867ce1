"""Runs the command line as a user does, in this process or in one of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from headrace.cli.main import main

COMMAND = [sys.executable, "-m", "headrace.cli.main"]


class Shell:
    """Runs the command in a directory; `code`, `out` and `err` are those of the last one."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """In this process: starting one takes longer than what most commands do."""
        out, err = StringIO(), StringIO()
        with ExitStack() as stack:
            given = stack.enter_context(TemporaryFile("w+"))
            given.write(stdin)
            given.seek(0)
            stack.enter_context(standard_input(given))
            stack.enter_context(chdir(self.directory))
            stack.enter_context(redirect_stdout(out))
            stack.enter_context(redirect_stderr(err))
            try:
                self.code = main(arguments)
            except SystemExit as ended:
                self.code = ended.code
        self.out, self.err = out.getvalue(), err.getvalue()
        return self.out

    def process(self, *arguments: str, stdin: str = "") -> str:
        """In one of its own, with pipes."""
        done = subprocess.run(
            [*COMMAND, *arguments],
            input=stdin,
            cwd=self.directory,
            capture_output=True,
            text=True,
            check=False,
        )
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        assert "Traceback" not in self.err
        return self.out


@contextmanager
def standard_input(given: IO[str]) -> Iterator[None]:
    before, sys.stdin = sys.stdin, given  # type: ignore[assignment]
    try:
        yield
    finally:
        sys.stdin = before
