"""The second act of `make demo`, in short: a real kill of a real process, and its own verdict."""

from __future__ import annotations

import os
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
    assert said.index("kill -9") < said.index("it goes on after transaction")
    assert "— nothing was lost, nothing was doubled" in said
