"""The examples of what long tests share: a progress bar, tables."""

from __future__ import annotations

import doctest
from pathlib import Path
from types import ModuleType

import pytest

from tests import progress, tables


@pytest.mark.parametrize("module", [progress, tables])
def test_the_examples_are_right(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


def test_a_generated_part_of_a_page_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- x: begin -->\nold\n<!-- x: end -->\nafter\n")
    for text in ("new", "newer"):
        tables.replace_generated(page, "x", text)
    assert page.read_text() == "before\n<!-- x: begin -->\nnewer\n<!-- x: end -->\nafter\n"
    with pytest.raises(ValueError, match="has no part between"):
        tables.replace_generated(page, "y", "new")
