"""The second act of `make demo`, in short: a real kill of a real process, and its own verdict."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_killed_application_goes_on_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    options = ["--act", "2", "--seconds", "4", "--folder", str(tmp_path / "demo")]
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    demo = subprocess.Popen(
        [sys.executable, "-m", "examples.demo", *options],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        said, _ = demo.communicate(timeout=300)
    finally:
        demo.terminate()  # it stops its application before it ends
        demo.wait(60)
    assert demo.returncode == 0, said
    # It was killed in the middle of a batch, and that batch left no trace in the log.
    killed = re.search(
        r"kill -9 \d+: ([\d,]+) of ([\d,]+) transactions .*; ([\d,]+) more are in flight", said
    )
    again = re.search(r"it goes on after transaction ([\d,]+), .* reads those ([\d,]+) again", said)
    assert killed is not None, said
    assert again is not None, said
    read, sold, in_flight = (int(number.replace(",", "")) for number in killed.groups())
    assert read > 0
    assert in_flight > 2_000
    assert read + in_flight == sold
    assert again.groups() == (killed[1], killed[3])
    assert "— nothing was lost, nothing was doubled" in said
