"""Which partitions of the log meet in a task where time decides: those a batch must not cut at different times.

Partitions of the same number meet where topics are read by one sub-topology; all partitions meet behind a shuffle. But
a task that only counts, sums or keeps rows, and has one input, gives the same whatever the time of its records: for its
sake nothing has to wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from functools import partial
from typing import Any

from headrace.config import StreamsConfig
from headrace.log.base import Chunk, TopicPartition
from headrace.record import NO_HEADERS, Record
from headrace.resolve import SerdePair, extractor_of, node_serdes
from headrace.spark.layout import Layout, Placement
from headrace.timestamps import (
    TimestampExtractor,
    WallclockTimestampExtractor,
    needs_the_past,
    use_partition_time_on_invalid_timestamp,
)
from headrace.topology import operators
from headrace.topology.nodes import ProcessorNode, SubTopology

TIMELESS = (
    operators.PassThrough,
    operators.Filter,
    operators.DropNullKeys,
    operators.Map,
    operators.MapValues,
    operators.MapValuesAsync,
    operators.FlatMap,
    operators.FlatMapValues,
    operators.SelectKey,
    operators.Peek,
    operators.Branch,
    operators.TableSource,
    operators.TableToStream,
    operators.TableFilter,
    operators.TableMapValues,
    operators.TableGroupBy,
    operators.TableReduce,
    operators.TableAggregate,
    operators.StreamReduce,
    operators.StreamAggregate,
    operators.StreamGlobalTableJoin,
)
"""Operators that ask neither for the time nor for the order of records with different keys."""


def meeting_partitions(layout: Layout, config: StreamsConfig) -> tuple[frozenset[TopicPartition], ...]:
    """Groups of partitions that a batch cuts at one time; what is in none may be cut anywhere."""
    groups: list[frozenset[TopicPartition]] = []
    clockless = _clockless(layout, config)
    for placement in layout.placements:
        if not _minds_time(placement.sub, placement.topics):
            continue
        near = set(placement.topics) - clockless
        far = _behind_shuffles(layout, placement) - clockless
        counts = {topic: layout.topics[topic] for topic in near | far}
        if far or layout.by_key:
            groups.append(frozenset(TopicPartition(t, p) for t, n in counts.items() for p in range(n)))
        else:
            groups += [
                frozenset(TopicPartition(t, number) for t, n in counts.items() if number < n)
                for number in range(placement.tasks)
            ]
    return _united(group for group in groups if len(group) > 1)


def extracted_times(layout: Layout, config: StreamsConfig) -> dict[str, Callable[[Chunk], list[int]]]:
    """Topics whose records say themselves when they happened, and how to hear it."""
    found: dict[str, Callable[[Chunk], list[int]]] = {}
    for placement in layout.placements:
        for source in placement.sub.sources:
            extractor = extractor_of(source, config)
            if source.repartition or not _reads_the_record(extractor):
                continue
            for topic in placement.topics:
                if topic in source.topics or (source.pattern and source.pattern.fullmatch(topic)):
                    found[topic] = partial(_extract, extractor, node_serdes(source, config))
    return found


def _extract(extractor: TimestampExtractor, serdes: SerdePair, chunk: Chunk) -> list[int]:
    """The time of each record; -1 where there is none to be had, which a task will judge."""
    found, highest = [], -1
    headers = chunk.headers or [NO_HEADERS] * len(chunk)
    for key, value, timestamp, heads in zip(chunk.keys, chunk.values, chunk.timestamps, headers, strict=True):
        try:
            record: Record[Any, Any] = Record(
                None if key is None else serdes.key.deserialize(key),
                None if value is None else serdes.value.deserialize(value),
                timestamp,
                heads,
            )
            time = int(extractor(record, highest))
        except Exception:
            time = -1
        highest = max(highest, time)
        found.append(time)
    return found


def _reads_the_record(extractor: TimestampExtractor) -> bool:
    return needs_the_past(extractor) and not (
        extractor is use_partition_time_on_invalid_timestamp
        or isinstance(extractor, WallclockTimestampExtractor)
    )


def _clockless(layout: Layout, config: StreamsConfig) -> set[str]:
    """Topics whose records happen when they are processed, and those that are read whole in any case."""
    found = set(map(layout.internal_name, layout.looped))
    for placement in layout.placements:
        for source in placement.sub.sources:
            if isinstance(extractor_of(source, config), WallclockTimestampExtractor):
                found |= {t for t in placement.topics if t in source.topics or source.pattern is not None}
    return found


def _minds_time(sub: SubTopology, topics: tuple[str, ...]) -> bool:
    inputs = len(topics) + sum(len(source.topics) for source in sub.sources if source.repartition)
    return (
        inputs > 1
        or any(spec.ttl_ms or "key_value" not in spec.kind for spec in sub.stores)
        or any(isinstance(n, ProcessorNode) and not isinstance(n.operator, TIMELESS) for n in sub.nodes)
    )


def _behind_shuffles(layout: Layout, placement: Placement) -> set[str]:
    """Topics of the log whose records come to a sub-topology by way of another one."""
    writers: Mapping[str, Set[int]] = {
        name: {p.sub.id for p in layout.placements for s in p.sub.sinks if s.repartition and s.topic == name}
        for name in layout.repartitions
    }
    seen: set[int] = set()
    waiting = [placement]
    while waiting:
        for source in waiting.pop().sub.sources:
            for name in source.topics if source.repartition else ():
                for writer in writers[name] - seen:
                    seen.add(writer)
                    waiting.append(layout.by_sub(writer))
    return {topic for sub in seen for topic in layout.by_sub(sub).topics}


def _united(groups: Iterable[frozenset[TopicPartition]]) -> tuple[frozenset[TopicPartition], ...]:
    found: list[frozenset[TopicPartition]] = []
    for group in groups:
        near = [other for other in found if other & group]
        found = [other for other in found if not other & group]
        found.append(group.union(*near))
    return tuple(found)
