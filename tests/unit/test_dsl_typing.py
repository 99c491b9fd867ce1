"""Types flow through the DSL, as far as a type checker can follow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typed_dsl

TYPED = Path(typed_dsl.__file__)


def test_mypy_follows_the_types() -> None:
    # `--strict` also says when an ignored mistake is none any more.
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(TYPED)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_what_is_well_typed_also_builds() -> None:
    assert typed_dsl.builder.build().nodes
