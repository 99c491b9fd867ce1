"""A topology as a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.topology.describe import parents_of
from headrace.topology.nodes import GlobalStoreNode, Node, ProcessorNode, SinkNode, SourceNode, SubTopology


def mermaid(subs: Sequence[SubTopology], global_stores: Sequence[GlobalStoreNode]) -> str:
    """A flowchart: topics as pipes, stores as cylinders, a box around each sub-topology."""
    chart = _Chart({node.store.name for node in global_stores})
    for sub in subs:
        chart.box(f"Sub-topology {sub.id}", sub.nodes)
    for node in global_stores:
        chart.box(f"Global store {node.store.name}", (node.source, node.processor))
    return "\n".join(["flowchart TD", *chart.boxes, *chart.topics.values(), *chart.edges]) + "\n"


class _Chart:
    def __init__(self, global_stores: set[str]) -> None:
        self._global_stores = global_stores
        self.boxes: list[str] = []
        self.edges: list[str] = []
        self.topics: dict[str, str] = {}
        self._ids: dict[tuple[str, str], str] = {}

    def box(self, title: str, nodes: Iterable[Node]) -> None:
        lines = [f'  subgraph {self._id("box", title)}["{_text(title)}"]']
        stores: dict[str, None] = {}
        for node in nodes:
            here = self._id("node", node.name)
            lines.append(f'    {here}["{_text(node.name)}"]')
            self.edges += [f"  {self._id('node', parent)} --> {here}" for parent in parents_of(node)]
            if isinstance(node, ProcessorNode):
                stores |= dict.fromkeys(node.stores)
                self.edges += [f"  {here} <--> {self._id('store', store)}" for store in node.stores]
                looked_up = getattr(node.operator, "store", None)
                if looked_up in self._global_stores and looked_up not in node.stores:
                    self.edges.append(f"  {self._id('store', looked_up)} -.-> {here}")
            elif isinstance(node, SourceNode):
                self.edges += [f"  {self._topic(topic)} --> {here}" for topic in _topics(node)]
            else:
                self.edges += [f"  {here} --> {self._topic(topic)}" for topic in _topics(node)]
        lines += [f'    {self._id("store", store)}[("{_text(store)}")]' for store in stores]
        self.boxes += [*lines, "  end"]

    def _topic(self, topic: str) -> str:
        here = self._id("topic", topic)
        self.topics[topic] = f'  {here}{{{{"{_text(topic)}"}}}}'
        return here

    def _id(self, kind: str, name: str) -> str:
        return self._ids.setdefault((kind, name), f"{kind}{len(self._ids)}")


def _topics(node: SourceNode | SinkNode) -> tuple[str, ...]:
    if isinstance(node, SourceNode):
        return node.topics if node.pattern is None else (f"/{node.pattern.pattern}/",)
    return ("(chosen per record)",) if node.topic is None else (node.topic,)


def _text(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
