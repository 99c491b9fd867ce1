"""A worker that lives on runs the newest version of the user's file, and the file that is meant."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace import StreamsConfig
from headrace.cli.load import load_module
from headrace.spark.ship import IN_WORKER, Shipment, reference, resolve, unpack

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
