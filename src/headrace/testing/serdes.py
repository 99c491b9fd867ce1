"""Which serdes a topic of a driver has when the test does not say: those of the nodes that read or write it."""

from __future__ import annotations

from typing import Any

from headrace.config import StreamsConfig
from headrace.errors import UnknownNodeError
from headrace.origin import caller
from headrace.resolve import SerdePair, node_serdes, store_serdes
from headrace.serdes import Serde, Serdes, serde_for
from headrace.topology.nodes import SinkNode, SourceNode
from headrace.topology.topology import Topology


class TopicSerdes:
    """Looks a topic's nodes up in a topology."""

    def __init__(self, topology: Topology, config: StreamsConfig) -> None:
        self._config = config
        self._prefix = config.application_id + "-"
        nodes = topology.nodes.values()
        self._sources = [node for node in nodes if isinstance(node, SourceNode)]
        self._sinks = [node for node in nodes if isinstance(node, SinkNode)]
        self._changelogs = {
            f"{self._prefix}{spec.name}-changelog": spec
            for spec in topology.stores.values()
            if spec.changelog_topic is None
        }

    def of_input(self, topic: str, key: Any, value: Any) -> SerdePair:
        """How a test writes to a topic that the topology reads."""
        source = self.source(topic)
        if source is None:
            raise UnknownNodeError(
                f"no source of this topology reads the topic `{topic}`; it reads: {self._names('input')}",
                origin=caller(),
            )
        return self._chosen(source, key, value)

    def of_output(self, topic: str, key: Any, value: Any) -> SerdePair:
        """How a test reads a topic that the topology writes."""
        if key is not None and value is not None:
            return SerdePair(serde_for(key), serde_for(value))
        if topic == self._config.dead_letter_topic:
            return SerdePair(_or(key, Serdes.bytes()), _or(value, Serdes.bytes()))
        if topic in self._changelogs:
            spec = store_serdes(self._changelogs[topic], self._config)
            assert spec.key is not None
            assert spec.value is not None
            return SerdePair(_or(key, spec.key), _or(value, spec.value))
        sink = self._sink(topic)
        if sink is None:
            raise UnknownNodeError(
                f"no sink of this topology writes to the topic `{topic}`; it writes to: {self._names('output')}",
                origin=caller(),
            )
        return self._chosen(sink, key, value)

    def source(self, topic: str) -> SourceNode | None:
        """The source that reads a topic."""
        for source in self._sources:
            if topic in source.topics or (source.pattern is not None and source.pattern.fullmatch(topic)):
                return source
        return None

    def _sink(self, topic: str) -> SinkNode | None:
        for sink in self._sinks:
            name = f"{self._prefix}{sink.topic}" if sink.repartition else sink.topic
            if name == topic:
                return sink
        # A sink that chooses its topic per record may write anywhere.
        return next((sink for sink in self._sinks if sink.topic is None), None)

    def _chosen(self, node: SourceNode | SinkNode, key: Any, value: Any) -> SerdePair:
        if key is not None and value is not None:
            return SerdePair(serde_for(key), serde_for(value))
        known = node_serdes(node, self._config)
        return SerdePair(_or(key, known.key), _or(value, known.value))

    def _names(self, side: str) -> str:
        if side == "input":
            names = {topic for source in self._sources if not source.repartition for topic in source.topics}
        else:
            names = {sink.topic for sink in self._sinks if sink.topic is not None and not sink.repartition}
        return ", ".join(f"`{name}`" for name in sorted(names)) or "none"


def _or(given: Any, default: Serde[Any]) -> Serde[Any]:
    return default if given is None else serde_for(given)
