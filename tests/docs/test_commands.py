"""The commands on topics that the reference shows are run as they stand there, one after the other."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from documents import ROOT
from shell import Shell

from headrace.log.embedded import EmbeddedLog

SECTIONS = re.findall(
    r"^## headrace (topics|produce|consume)\n(.*?)(?=^## |\Z)",
    (ROOT / "docs/reference/cli.md").read_text(),
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize(("name", "text"), SECTIONS, ids=[name for name, _ in SECTIONS])
def test_the_commands_of_a_section_work(name: str, text: str, tmp_path: Path) -> None:
    commands = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
    assert len(commands) > 2
    if name == "consume":  # what an application would have made
        with EmbeddedLog(tmp_path / ".headrace" / "log") as log:
            for topic in ("fraud-alerts", "wordcount-output", "transactions"):
                log.create_topic(topic, 2)
    shell = Shell(tmp_path)
    for command in commands:
        # As a shell would: what stands before the pipe is the input.
        before, pipe, after = command.rpartition(" | ")
        given = (
            subprocess.run(before, shell=True, capture_output=True, text=True, check=True).stdout
            if pipe
            else ""
        )
        arguments = shlex.split(after, comments=True)
        assert arguments.pop(0) == "headrace"
        shell(*arguments, *(["--timeout", "0"] if "--follow" in arguments else []), stdin=given)
        assert shell.code == 0, f"{command}\n{shell.err}"
