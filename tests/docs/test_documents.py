"""What the documents say is true: their Python runs, their links lead somewhere, nothing is left out."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from documents import DOCUMENTS, ROOT, WITH_PYTHON, Document

from headrace import StreamsConfig


@pytest.mark.parametrize("document", WITH_PYTHON, ids=lambda document: document.name)
def test_the_python_of_a_page_runs_and_its_tests_pass(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = document.write_module(tmp_path)
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, file.stem, module)
    spec.loader.exec_module(module)
    for name, function in list(vars(module).items()):
        if name.startswith("test_"):
            function()


def test_the_first_page_has_python_and_a_test_in_it() -> None:
    assert "def test_" in next(d for d in WITH_PYTHON if d.name == "README.md").module()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_links_between_documents_lead_somewhere(document: Document) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", document.path.read_text()):
        if "://" not in target:
            assert (document.path.parent / target).exists(), f"{document.name}: {target}"


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs/reference/configuration.md").read_text()
    documented = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert documented == {field.name for field in fields(StreamsConfig)}


def test_every_decision_is_in_the_list_of_decisions() -> None:
    folder = ROOT / "docs/adr"
    listed = set(re.findall(r"\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text()))
    assert listed == {path.name for path in folder.glob("[0-9]*.md")}
