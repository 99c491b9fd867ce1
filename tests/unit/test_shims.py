"""The scripts that Spark runs lie where nobody else can put his."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from headrace.errors import StartError
from headrace.spark import shims


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"headrace-{os.getuid()}"


def test_a_folder_of_ones_own_is_used(own: Path) -> None:
    assert shims.folder() == own
    script = Path(shims.python())
    assert script.is_relative_to(own)
    assert os.access(script, os.X_OK)
    assert shims.is_shim(script)


def test_one_that_all_may_write_to_is_refused(own: Path) -> None:
    own.mkdir()
    own.chmod(0o777)
    with pytest.raises(StartError, match="is not a folder that only you can write to"):
        shims.python()


def test_a_link_to_elsewhere_is_refused(own: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    own.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StartError, match="set TMPDIR to a folder of your own"):
        shims.python()
