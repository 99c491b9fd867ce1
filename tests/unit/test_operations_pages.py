"""The commands on the pages about upgrades and rescaling, run one after the other on an application with state."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from headrace import StreamsBuilder
from headrace.cli.main import main
from tests.documents import DOCUMENTS
from tests.spark.harness.inputs import parts
from tests.spark.harness.sparkless import Sparkless

SHOP = """
from headrace import StreamsBuilder

builder = StreamsBuilder()
builder.stream("orders", value=str).group_by_key().count(store="orders-per-customer").to_stream().to("counts")
topology = builder.build()
"""


@pytest.mark.parametrize("page", ["docs/operations/upgrades.md", "docs/operations/rescaling.md"])
def test_the_commands_on_the_page_work(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    builder = StreamsBuilder()
    counts = builder.stream("orders", value=str).group_by_key().count(store="orders-per-customer")
    counts.to_stream().to("counts")
    (tmp_path / "shop.py").write_text(SHOP)
    app = Sparkless(builder.build(), tmp_path / ".headrace", application_id="shop")
    app.run(parts("orders", count=1))
    app.close()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setitem(sys.modules, "shop", ModuleType("shop"))  # so that it is gone afterwards
    del sys.modules["shop"]
    (document,) = [found for found in DOCUMENTS if found.name == page]
    lines = [line for _, block in document.blocks("console") for line in block if line.startswith("$ ")]
    ran = 0
    for line in lines:
        words = shlex.split(line.removeprefix("$ headrace "), comments=True)
        if words[0] == "run":
            continue  # on Spark: in another test
        asks = words[0] in ("reset", "rescale") and "--dry-run" not in words
        assert main([*words, "--yes"] if asks else words) == 0, capsys.readouterr()
        ran += 1
    assert ran > 1
