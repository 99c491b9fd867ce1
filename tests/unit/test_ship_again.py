"""A worker that lives on runs the newest version of the user's file, and the file that is meant."""

from __future__ import annotations

import ast
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace import StreamsConfig, Topology
from headrace.cli.load import find_topology, load_module
from headrace.spark.ship import (
    IN_WORKER,
    ModuleRef,
    Shipment,
    made_on_import,
    reference,
    resolve,
    unpack,
)

APP = """
from headrace import Response, StreamsBuilder

NUMBER = {number}
print("number", NUMBER)


def handle(context, error):
    return (NUMBER, Response.CONTINUE)


builder = StreamsBuilder()
builder.stream("in", value=int).filter(lambda key, value: value == NUMBER).to("out")
topology = builder.build()
"""

SENT = """
from headrace import StreamsBuilder

builder = StreamsBuilder()
builder.stream("in", value=int).to("out")
topology = builder.build()
"""


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    path = list(sys.path)
    monkeypatch.setenv(IN_WORKER, "")
    yield
    sys.path[:] = path
    sys.modules.pop("shipped_app", None)


def shipped(folder: Path, number: int) -> str:
    """What a driver sends that has just imported the file."""
    folder.mkdir(exist_ok=True)
    file = folder / "shipped_app.py"
    file.write_text(APP.format(number=number))
    sys.modules.pop("shipped_app", None)
    sys.path.insert(0, str(folder))
    module = load_module(file)
    ref = reference(module.topology)
    assert ref is not None
    config = StreamsConfig(application_id="app", processing_handler=module.handle)
    text = Shipment("run", "incarnation", ref, config, {"in": 1}, 1).pack()
    sys.path.remove(str(folder))
    del sys.modules["shipped_app"]
    return text


def numbers(text: str) -> tuple[int, int]:
    """As the worker sees it: the number in the module of the topology, and the one of the handler in the settings."""
    shipment = unpack(text)
    resolve(shipment.topology)
    handler = shipment.config.processing_handler
    return sys.modules["shipped_app"].NUMBER, handler(None, None)[0]  # type: ignore[arg-type, index]


def test_a_changed_file_and_another_one_of_that_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = shipped(tmp_path / "a", 1)
    assert capsys.readouterr().out == "number 1\n"
    assert numbers(first) == (1, 1)
    assert capsys.readouterr().out == "", "the driver has printed it"
    known = sys.modules["shipped_app"]
    assert numbers(first) == (1, 1)
    assert sys.modules["shipped_app"] is known, "what has not changed is imported once"
    del sys.modules["shipped_app"]
    changed = shipped(tmp_path / "a", 22)
    sys.modules["shipped_app"] = known  # as in a worker that has run the first
    assert numbers(changed) == (22, 22)
    worker = sys.modules["shipped_app"]
    other = shipped(tmp_path / "b", 333)
    sys.modules["shipped_app"] = worker
    assert numbers(other) == (333, 333)


def test_what_was_sent_to_another_machine_is_replaced_by_what_is_sent_next(tmp_path: Path) -> None:
    """The application has not changed, but a module that it imports has."""
    seen = []
    for number in (1, 2, 2):
        zipped = tmp_path / f"app-{number:016x}.zip"
        with zipfile.ZipFile(zipped, "w") as archive:
            archive.writestr("shipped_rules.py", f"NUMBER = {number}")
            archive.writestr("shipped_app.py", "from shipped_rules import NUMBER\n" + SENT)
        # As Spark does in a worker that lives on.
        if str(zipped) not in sys.path:
            sys.path.insert(1, str(zipped))
        topology = resolve(ModuleRef("shipped_app", "topology", None, None, zipped.name))
        seen.append((sys.modules["shipped_app"].NUMBER, topology))
    assert [number for number, _ in seen] == [1, 2, 2]
    assert seen[1][1] is seen[2][1]
    del sys.modules["shipped_rules"]


def sent(folder: Path, text: str) -> object:
    """What a worker gets of a file that the command has loaded."""
    file = folder / "shipped_app.py"
    file.write_text(text)
    ref = reference(find_topology(load_module(file)))
    assert ref is not None
    del sys.modules["shipped_app"]
    return resolve(ref)


@pytest.mark.parametrize("end", ["", "def topology(): return builder.build()"])
def test_a_worker_builds_what_the_command_has_built(tmp_path: Path, end: str) -> None:
    """The file has a builder, or a function: the topology itself is not among its names."""
    text = SENT.replace("topology = builder.build()", end)
    topology = sent(tmp_path, text)
    assert isinstance(topology, Topology)
    assert [source.topics for sub in topology.sub_topologies() for source in sub.sources] == [("in",)]


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("topology = build()", True),
        ("if True:\n    a, topology = 1, build()", True),
        ("from elsewhere import made as topology", True),
        ("with build() as topology: pass", True),
        ('if __name__ == "__main__":\n    topology = build()', False),
        ("def f():\n    topology = build()", False),
        ("print(topology)", False),
    ],
)
def test_names_that_whoever_imports_a_script_finds(text: str, is_found: bool) -> None:
    assert ("topology" in made_on_import(ast.parse(text))) is is_found
