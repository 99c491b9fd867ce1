"""What the documents say is true: their Python runs, their links lead somewhere, nothing is left out."""

from __future__ import annotations

import argparse
import importlib.util
import re
import shlex
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from documents import DOCUMENTS, ROOT, WITH_PYTHON, Document

from headrace import KGroupedStream, KGroupedTable, KStream, KTable, StreamsBuilder, StreamsConfig
from headrace.cli.main import COMMANDS, parser_for


@pytest.mark.parametrize("document", WITH_PYTHON, ids=lambda document: document.name)
def test_the_python_of_a_page_runs_and_its_tests_pass(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = document.write_module(tmp_path)
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, file.stem, module)
    for number, block in document.blocks("python"):
        # A test belongs to what stands above it: the next section may give the names another meaning.
        known = dict(vars(module))
        source = "\n" * (number - 1) + "\n".join(block) + "\n"
        exec(compile(source, file, "exec"), vars(module))
        for name, function in list(vars(module).items()):
            if name.startswith("test_") and known.get(name) is not function:
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


@pytest.mark.parametrize("handle", [StreamsBuilder, KStream, KTable, KGroupedStream, KGroupedTable])
def test_every_operator_is_documented(handle: type) -> None:
    page = (ROOT / "docs/reference/operators.md").read_text()
    operators = {name for name in dir(handle) if not name.startswith("_") and callable(getattr(handle, name))}
    elsewhere = {"add_state_store", "add_global_store", "build", "branch"}
    assert operators
    assert {
        name for name in operators - elsewhere if not re.search(rf"`[^`]*\b{name}\b[^`]*`", page)
    } == set()


def commands(document: Document) -> list[list[str]]:
    """The arguments of every `headrace` command in the console blocks of a page."""
    found = []
    for _, lines in document.blocks("console"):
        for line in lines:
            if line.startswith("$ ") and "headrace " in line:
                words = shlex.split(line.removeprefix("$ "), comments=True)
                found.append(words[words.index("headrace") + 1 :])
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_the_commands_on_a_page_are_understood(document: Document) -> None:
    for arguments in commands(document):
        parser_for(arguments).parse_args(arguments)


def options(parser: argparse.ArgumentParser) -> set[str]:
    found: set[str] = set()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                found |= options(inner)
        elif not isinstance(action, argparse._HelpAction):
            found |= {option for option in action.option_strings if option.startswith("--")}
    return found


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_and_option_is_documented(command: str) -> None:
    page = (ROOT / "docs/reference/cli.md").read_text()
    sections = dict(re.findall(r"^## headrace (\w+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    parser = parser_for([command])
    documented = set(re.findall(r"^\| `(--[\w-]+)` \|", sections[command], re.MULTILINE))
    subparsers = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    assert documented == options(subparsers.choices[command])


PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "adr")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_page_is_linked_from_the_first_one(page: Path) -> None:
    assert f"]({page.relative_to(ROOT)})" in (ROOT / "README.md").read_text()


NO_DIFFERENCES = {
    *(
        "0002",
        "0003",
        "0004",
        "0006",
        "0009",
        "0010",
        "0011",
        "0012",
        "0014",
        "0026",
        "0031",
        "0035",
        "0038",
        "0037",
        "0039",
    ),  # how it is built
    *("0016", "0020", "0023", "0025", "0032"),  # what Kafka Streams does not have
}


def test_every_decision_that_makes_a_difference_is_on_the_page_of_differences() -> None:
    """A new decision is either there or in the set above."""
    linked = set(re.findall(r"\.\./adr/(\d{4})-", (ROOT / "docs/reference/differences.md").read_text()))
    assert linked.isdisjoint(NO_DIFFERENCES)
    assert linked | NO_DIFFERENCES == {path.name[:4] for path in (ROOT / "docs/adr").glob("[0-9]*.md")}


def test_every_decision_is_in_the_list_of_decisions() -> None:
    folder = ROOT / "docs/adr"
    listed = set(re.findall(r"\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text()))
    assert listed == {path.name for path in folder.glob("[0-9]*.md")}
