"""The commands on topics that the reference shows are run as they stand there, one after the other."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT

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
    for command in commands:
        ends = " --timeout 0" if "--follow" in command else ""
        line = command.replace("headrace ", f"{sys.executable} -m headrace.cli.main ", 1) + ends
        done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), f"{command}\n{done.stderr}"
