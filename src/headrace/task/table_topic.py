"""Reading a table's own topic as the changelog of its store (`reuse.ktable.source.topics`).

A store's changelog holds what the store was given. The topic holds what was sent: records without a key, some that
cannot be read, times that an extractor replaces, perhaps another form of the values. So a record takes the way that it
took when it first came, as far as the store.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from headrace.config import StreamsConfig
from headrace.log.base import Chunk
from headrace.record import NO_HEADERS, Record
from headrace.resolve import extractor_of, node_serdes, store_serdes
from headrace.timestamps import needs_the_past
from headrace.topology.nodes import SourceNode
from headrace.topology.stores import StoreSpec

logger = logging.getLogger("headrace")


def changes_of_topic(source: SourceNode, spec: StoreSpec, config: StreamsConfig) -> Callable[[Chunk], Chunk]:
    """The function that turns records of the topic into those of a changelog, for one way through the partition."""
    serdes, store = node_serdes(source, config), store_serdes(spec, config)
    read_key, read_value = serdes.key.deserialize, serdes.value.deserialize
    assert store.key is not None
    assert store.value is not None
    write_key, write_value = store.key.serialize, store.value.serialize
    extractor = extractor_of(source, config)
    highest = -1

    def convert(chunk: Chunk) -> Chunk:
        nonlocal highest
        found = Chunk(
            chunk.topic, chunk.partition, offsets := [], timestamps := [], keys := [], values := [], None
        )
        columns = zip(chunk.offsets, chunk.timestamps, chunk.keys, chunk.values, strict=True)
        for row, (offset, sent, raw_key, raw_value) in enumerate(columns):
            if raw_key is None:
                continue
            try:
                key = read_key(raw_key)
                value = None if raw_value is None else read_value(raw_value)
            except Exception as error:
                # It was skipped when it came: otherwise nothing behind it would have been committed.
                logger.debug("left out of `%s`: offset %s of `%s`: %s", spec.name, offset, chunk.topic, error)
                continue
            time = sent
            if needs_the_past(extractor):
                headers = NO_HEADERS if chunk.headers is None else chunk.headers[row]
                time = int(extractor(Record(key, value, sent, headers), highest))
                highest = max(highest, time)
            if time < 0:
                continue
            offsets.append(offset)
            timestamps.append(time)
            keys.append(write_key(key))
            values.append(None if value is None else write_value(value))
        return found

    return convert
