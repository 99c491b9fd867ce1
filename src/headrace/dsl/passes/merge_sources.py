"""Streams of the same topics share one source."""

from __future__ import annotations

from dataclasses import replace

from headrace.dsl.graph import Graph, LogicalNode, StreamSource
from headrace.errors import InvalidArgumentError, TopicConflictError
from headrace.serdes.described import describe_serde, serde_text


def merge_sources(graph: Graph) -> Graph:
    """Two streams of the same topics become one source: the first keeps its name."""
    first: dict[str, StreamSource] = {}
    replaced: dict[int, int] = {}
    renamed: dict[str, str] = {}
    told: dict[int, StreamSource] = {}
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
                told[main.id] = _with_what_is_said(told.get(main.id, main), node, topic)

    def change(node: LogicalNode) -> LogicalNode:
        sources = frozenset(renamed.get(source, source) for source in node.joined_sources)
        node = told.get(node.id, node)
        return replace(node, parents=_without(node.parents, replaced), joined_sources=sources)

    nodes = {number: change(node) for number, node in graph.nodes.items() if number not in replaced}
    return replace(graph, nodes=nodes)


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


def _with_what_is_said(main: StreamSource, other: StreamSource, topic: str) -> StreamSource:
    """A topic is read once, so only one of them can say how: what one leaves open, the other may say."""
    for part in ("key", "value"):
        here, there = getattr(main, part), getattr(other, part)
        if here is None:
            main = replace(main, **{part: there})
        elif there is not None and describe_serde(here) != describe_serde(there):
            raise TopicConflictError(
                f"the topic `{topic}` is read with `{part}` as {serde_text(describe_serde(here))} at {main.origin} and "
                f"as {serde_text(describe_serde(there))} here: say the same in both, and change it behind with "
                "`map_values` or `map`",
                node=other.name,
                origin=other.origin,
            )
    if main.timestamp_extractor is None:
        return replace(main, timestamp_extractor=other.timestamp_extractor)
    if other.timestamp_extractor not in (None, main.timestamp_extractor):
        raise TopicConflictError(
            f"the topic `{topic}` is read with another `timestamp_extractor` at {main.origin}: name one in one of them",
            node=other.name,
            origin=other.origin,
        )
    return main
