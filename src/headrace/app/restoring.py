"""The restore listener of an application, with Kafka Streams' names."""

from __future__ import annotations

from typing import Protocol

from headrace.log.base import TopicPartition
from headrace.spark.restores import RestoreEvent


class StateRestoreListener(Protocol):
    """Hears of stores that are brought up to date from their changelogs. Called by one thread at a time."""

    def on_restore_start(
        self, topic_partition: TopicPartition, store_name: str, starting_offset: int, ending_offset: int
    ) -> None:
        """The store of a task (its number is the partition's) is behind: it reads from one offset up to another."""
        ...

    def on_batch_restored(
        self, topic_partition: TopicPartition, store_name: str, batch_end_offset: int, num_restored: int
    ) -> None:
        """It has come so far; `num_restored` records more than when it was last told."""
        ...

    def on_restore_end(self, topic_partition: TopicPartition, store_name: str, total_restored: int) -> None:
        """It is up to date."""
        ...

    def on_restore_suspended(
        self, topic_partition: TopicPartition, store_name: str, total_restored: int
    ) -> None:
        """Its batch has failed, or the application ends; another start goes on with it."""
        ...


class RestoreEvents:
    """Tells a listener of what the workers report."""

    def __init__(self, listener: StateRestoreListener) -> None:
        self._listener = listener
        self._told: dict[tuple[TopicPartition, str], int] = {}
        """Records that the listener knows of, by store."""

    def hear(self, event: RestoreEvent) -> None:
        """One event of the channel."""
        place, store = TopicPartition(event.topic, event.partition), event.store
        if event.kind == "start":
            self._told[place, store] = 0
            self._listener.on_restore_start(place, store, event.start, event.end)
            return
        more = event.records - self._told.get((place, store), 0)
        if more > 0 and event.kind != "suspended":
            self._told[place, store] = event.records
            self._listener.on_batch_restored(place, store, event.offset, more)
        if event.kind == "end":
            self._listener.on_restore_end(place, store, event.records)
        elif event.kind == "suspended":
            self._listener.on_restore_suspended(place, store, event.records)
        if event.kind in ("end", "suspended"):
            self._told.pop((place, store), None)
