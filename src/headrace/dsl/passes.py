"""What is done to the logical graph before it becomes a topology, in this order."""

from __future__ import annotations

from dataclasses import replace

from headrace.dsl.graph import (
    Graph,
    LogicalNode,
    Operation,
    Pass,
    Repartition,
    StreamJoin,
    StreamSource,
    TableSource,
)
from headrace.errors import InvalidArgumentError, TopicConflictError


def merge_sources(graph: Graph) -> Graph:
    """Two streams of the same topics become one source: the first keeps its name."""
    first: dict[str, StreamSource] = {}
    replaced: dict[int, int] = {}
    renamed: dict[str, str] = {}
    for node in sorted(graph.nodes.values(), key=lambda node: node.id):
        if not isinstance(node, StreamSource):
            continue
        patterns = () if node.pattern is None else (f"/{node.pattern.pattern}/{node.pattern.flags}",)
        for topic in (*node.topics, *patterns):
            main = first.setdefault(topic, node)
            if main is not node:
                _check_same(main, node, topic)
                replaced[node.id] = main.id
                renamed[node.name] = main.name

    def change(node: LogicalNode) -> LogicalNode:
        node = replace(node, parents=_without(node.parents, replaced))
        if isinstance(node, Operation | StreamJoin) and node.joined_sources:
            sources = frozenset(renamed.get(source, source) for source in node.joined_sources)
            return replace(node, joined_sources=sources)
        return node

    return Graph({number: change(node) for number, node in graph.nodes.items() if number not in replaced})


def _without(parents: tuple[int, ...], replaced: dict[int, int]) -> tuple[int, ...]:
    # A parent that takes over comes last, as in Kafka Streams.
    moved = [replaced[parent] for parent in sorted(parents) if parent in replaced]
    kept = [parent for parent in parents if parent not in replaced]
    return tuple(dict.fromkeys(kept + moved))


def _check_same(main: StreamSource, other: StreamSource, topic: str) -> None:
    if set(main.topics) != set(other.topics):
        raise TopicConflictError(
            f"the topic `{topic}` is already read by `{main.name}`, made at {main.origin}, together with others: "
            f"read each topic in one `stream` only, and use `merge`",
            node=other.name,
            origin=other.origin,
        )
    if main.offset_reset != other.offset_reset:
        raise InvalidArgumentError(
            f"the topic `{topic}` is read with `offset_reset={main.offset_reset!r}` at {main.origin} and with "
            f"{other.offset_reset!r} here: say the same in both",
            node=other.name,
            origin=other.origin,
        )


def materialize_tables(graph: Graph) -> Graph:
    """A table that some other node reads needs its store."""
    read = {store for node in graph.nodes.values() if isinstance(node, Operation) for store in node.reads}

    def change(node: LogicalNode) -> LogicalNode:
        if isinstance(node, TableSource) and node.store.name in read:
            return replace(node, materialized=True)
        return node

    return Graph({number: change(node) for number, node in graph.nodes.items()})


def keep_null_keys(graph: Graph) -> Graph:
    """A repartition lets records without a key through when a left join comes anywhere after it (KIP-962)."""
    children = graph.children()
    relaxed: dict[int, bool] = {}

    def leads_to_left_join(number: int) -> bool:
        if number not in relaxed:
            relaxed[number] = any(
                getattr(graph.nodes[child], "keeps_null_keys", False) or leads_to_left_join(child)
                for child in children[number]
            )
        return relaxed[number]

    return Graph(
        {
            number: replace(node, drops_null_keys=not (node.passes_null_keys or leads_to_left_join(number)))
            if isinstance(node, Repartition)
            else node
            for number, node in graph.nodes.items()
        }
    )


PASSES: tuple[Pass, ...] = (merge_sources, materialize_tables, keep_null_keys)
