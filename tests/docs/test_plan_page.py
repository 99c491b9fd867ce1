"""The pictures on the page about the plan are made from the topology on that page."""

from __future__ import annotations

from pathlib import Path

from documents import ROOT, Document

from headrace import StreamsConfig
from headrace.cli.load import find_topology, load_module
from headrace.spark.explain import Explanation, explain

PAGE = Document(ROOT / "docs/concepts/the-plan.md")


def told(folder: Path) -> Explanation:
    topology = find_topology(load_module(PAGE.write_module(folder)))
    topics = dict.fromkeys(["people", "visits", "seen", "busy-pages"], 4)
    return explain(topology, StreamsConfig(application_id="visits", master="local[2]"), topics)


def test_flowchart_and_words_are_made_from_the_graph(tmp_path: Path) -> None:
    made = told(tmp_path)
    ((_, flowchart),) = PAGE.blocks("mermaid")
    assert "\n".join(flowchart) + "\n" == made.to_mermaid()
    ((_, words),) = PAGE.blocks("text")
    assert "\n".join(words) == str(made)
