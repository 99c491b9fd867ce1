"""The pages that start an application do so here, as a reader would: as a script, in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT, THAT_RUN, Document


@pytest.mark.parametrize("document", THAT_RUN, ids=lambda document: document.name)
def test_the_application_of_a_page_starts_answers_and_stops(document: Document, tmp_path: Path) -> None:
    file = document.write_module(tmp_path)
    done = subprocess.run(
        [sys.executable, file.name],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # The store is asked before anything was produced.
    assert done.stdout.splitlines()[-1] == "[]"
