"""What went back to an earlier stage is read once, by the next batch: after that its records are of no use."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from headrace.errors import HeadraceError
from headrace.log.base import TopicLog, TopicPartition
from headrace.spark.commit import CommitRecord
from headrace.spark.layout import Layout

EVERY = 30.0
"""Seconds between two rounds, as in Kafka Streams (`repartition.purge.interval.ms`)."""

logger = logging.getLogger("headrace")


class Purger:
    """Deletes them now and then. Their topics have no retention of their own: an application may stand still for long,
    and must find the rest of its last batch all the same.
    """

    def __init__(self, log: TopicLog, layout: Layout, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._topics = sorted(map(layout.internal_name, layout.looped))
        self._clock = clock
        self._next = clock() + EVERY

    def after(self, commit: CommitRecord) -> None:
        """A commit is in the log: what it has read will not be asked for again."""
        if not self._topics or self._clock() < self._next:
            return
        self._next = self._clock() + EVERY
        read = {
            TopicPartition(topic, partition): offset
            for topic in self._topics
            for partition, offset in enumerate(commit.positions[topic])
            if offset
        }
        try:
            self._log.delete_records(read)
        except HeadraceError as error:
            logger.warning("records of internal topics that were read already are still there: %s", error)
