"""Sinks, compiled: write a record into the output columns of its topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import Any, TypeAlias

from headrace.errors import InvalidArgumentError
from headrace.partitioning import partition_for
from headrace.processors.context import Process
from headrace.record import Headers
from headrace.resolve import SerdePair
from headrace.serdes import Serde, WindowedSerde
from headrace.task.failures import Failures
from headrace.task.output import Column, Output
from headrace.task.position import Position
from headrace.topology.nodes import SinkNode


def build_sink(
    node: SinkNode, serdes: SerdePair, output: Output, position: Position, failures: Failures
) -> Process:
    """The closure of a sink node."""
    if node.topic is not None and node.partitioner is None and not isinstance(serdes.key, WindowedSerde):
        return _plain(node, serdes, output.columns(node.topic, node.repartition), failures)
    return _choosing(node, serdes, output, position, failures)


def _plain(node: SinkNode, serdes: SerdePair, column: Column, failures: Failures) -> Process:
    """One topic, and the key's hash decides the partition: the common and fast case."""
    write_key, write_value = serdes.key.serialize, serdes.value.serialize
    add_key, add_value, add_timestamp = column.keys.append, column.values.append, column.timestamps.append
    timestamps, mark_headers = column.timestamps, column.marked_headers.append
    unwritable = _unwritable(node, serdes, failures)

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        try:
            key_bytes = None if key is None else write_key(key)
            value_bytes = None if value is None else write_value(value)
        except Exception as error:
            written = unwritable(key, value, error, timestamp, headers)
            if written is None:
                return
            key_bytes, value_bytes = written
        if headers:
            mark_headers((len(timestamps), headers))
        add_key(key_bytes)
        add_value(value_bytes)
        add_timestamp(timestamp)

    return process


def _choosing(
    node: SinkNode, serdes: SerdePair, output: Output, position: Position, failures: Failures
) -> Process:
    """The topic or the partition is chosen per record."""
    extractor, partitioner, fixed, repartition = (
        node.extractor,
        node.partitioner,
        node.topic,
        node.repartition,
    )
    key_serde, windowed = serdes.key, isinstance(serdes.key, WindowedSerde)
    write_key, write_value = serdes.key.serialize, serdes.value.serialize
    unwritable = _unwritable(node, serdes, failures)

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        places: Iterable[int | None] = _BY_KEY
        try:
            topic = extractor(key, value, position.metadata()) if extractor is not None else fixed
            if type(topic) is not str:
                raise InvalidArgumentError(
                    f"the function of `to` must return the name of a topic, got {topic!r}: `filter` drops records"
                )
        except Exception as error:
            failures.callback(node.name, node.origin, error, timestamp, headers)
            return
        if partitioner is not None:
            count = output.partitions(topic)
            try:
                places = _checked(partitioner(topic, key, value, count), count, topic)
            except Exception as error:
                failures.callback(node.name, node.origin, error, timestamp, headers)
                return
        try:
            key_bytes = None if key is None else write_key(key)
            value_bytes = None if value is None else write_value(value)
        except Exception as error:
            written = unwritable(key, value, error, timestamp, headers)
            if written is None:
                return
            key_bytes, value_bytes = written
        if windowed and places is _BY_KEY and key_bytes is not None:
            # All windows of a key stay in the key's own partition.
            assert isinstance(key_serde, WindowedSerde)
            places = (partition_for(key_serde.key_bytes(key_bytes), output.partitions(topic)),)
        column = output.columns(topic, repartition)
        for place in places:
            column.add(key_bytes, value_bytes, timestamp, headers, place)

    return process


_BY_KEY = (None,)
"""Once, in the partition that the hash of the key says."""


def _checked(chosen: int | Set[int] | None, count: int, topic: str) -> Iterable[int | None]:
    """One partition, several of them (KIP-837) or none; in order, so that a batch that runs again writes the same."""
    if chosen is None:
        return _BY_KEY
    places = sorted(chosen) if isinstance(chosen, Set) else (chosen,)
    for partition in places:
        if not isinstance(partition, int) or not 0 <= partition < count:
            raise InvalidArgumentError(
                f"the partitioner chose partition {partition!r}, and `{topic}` has {count}"
                f": return a number below {count}, a set of them, or None"
            )
    return places


Written: TypeAlias = tuple[bytes | None, bytes | None]


def _unwritable(
    node: SinkNode, serdes: SerdePair, failures: Failures
) -> Callable[[Any, Any, Exception, int, Headers], Written | None]:
    """Asks the production handler, and tries again as often as it says: then there are bytes after all."""

    def unwritable(
        key: Any, value: Any, error: Exception, timestamp: int, headers: Headers
    ) -> Written | None:
        attempt = 1
        while True:
            # Which of the two it was is found out only now, so that the common path needs one `try`.
            key_bytes, failure = _tried(serdes.key, key)
            part, serde, got = "key", serdes.key, key
            if failure is None:
                value_bytes, failure = _tried(serdes.value, value)
                part, serde, got = "value", serdes.value, value
                if failure is None and attempt > 1:
                    return key_bytes, value_bytes
            place = node.name, node.origin, part, serde, got
            if not failures.unwritable(*place, failure or error, timestamp, headers, attempt):
                return None
            attempt += 1

    return unwritable


def _tried(serde: Serde[Any], value: Any) -> tuple[bytes | None, Exception | None]:
    try:
        return None if value is None else serde.serialize(value), None
    except Exception as error:
        return None, error
