"""What can be asked of an application: how far it is, what it counts, where its tasks are, what its stores hold."""

from __future__ import annotations

from typing import Any

from headrace.app.engine import Engine
from headrace.app.metadata import (
    KeyQueryMetadata,
    LagInfo,
    Metadata,
    StreamsMetadata,
    ThreadMetadata,
)
from headrace.app.metrics import Metrics
from headrace.app.reaching import Progress
from headrace.app.states import State
from headrace.config import StreamsConfig
from headrace.errors import IllegalStateError, StoreError
from headrace.restore.progress import RestoreProgress
from headrace.spark.explain import Explanation, explain
from headrace.spark.explain.available import look
from headrace.topology.nodes import Partitioner
from headrace.topology.topology import Topology


class Questions:
    """The half of `Streams` that changes nothing."""

    topology: Topology
    config: StreamsConfig
    _engine: Engine

    @property
    def state(self) -> State:
        """Where the application is in its life."""
        return self._engine.life.state

    @property
    def error(self) -> BaseException | None:
        """What ended the application, if it failed."""
        return self._engine.life.error

    @property
    def is_paused(self) -> bool:
        """Whether it was paused, and not resumed."""
        return self._engine.paused

    # how far it is ---------------------------------------------------------------------------------------------------

    @property
    def metrics(self) -> Metrics:
        """Counts and times since the start: as attributes, and as a mapping with Kafka Streams' names."""
        return self._engine.metrics

    def lag(self) -> int | None:
        """Records in its topics that are not committed yet; asks the log. None while it does not run."""
        ends = self._engine.ends()
        return None if ends is None or not self._engine.reach.reached else self._engine.reach.left(ends)

    def progress(self) -> Progress:
        """How much is done of what it is to process, when it was started with `until_caught_up`."""
        return self._engine.reach.progress(self._engine.target)

    def restore_progress(self) -> RestoreProgress | None:
        """How far the restore of stores is; None when nothing is being restored."""
        return self._engine.restores.progress()

    # where things are ------------------------------------------------------------------------------------------------

    def explain(self) -> Explanation:
        """How the topology runs on Spark: stages, tasks, stores, topics. Before the start with the topics that are
        there by then, and as many partitions as the others would be made with.

        `str()` of the answer is text; it also has `to_svg()` and `to_mermaid()`.
        """
        opened = self._engine.opened
        if opened is None:
            return explain(self.topology, self.config, *look(self.config))
        return Explanation(self.topology, self.config, opened.layout, frozenset(), self._engine.slots)

    def metadata_for_local_threads(self) -> tuple[ThreadMetadata, ...]:
        """The query of the application, with every task: what it reads, how far it is committed, where it ran last."""
        return (self._metadata(with_ends=True).thread(),)

    def metadata_for_all_streams_clients(self) -> tuple[StreamsMetadata, ...]:
        """The hosts on which tasks ran, each with the stores and partitions of its tasks."""
        return self._metadata().hosts()

    def streams_metadata_for_store(self, store: str) -> tuple[StreamsMetadata, ...]:
        """The hosts that have tasks with this store."""
        return tuple(host for host in self._metadata().hosts() if store in host.state_store_names)

    def query_metadata_for_key(
        self, store: str, key: Any, *, partitioner: Partitioner | None = None
    ) -> KeyQueryMetadata:
        """The task that keeps a key, and the host where it ran last. Records that were placed with a `partitioner` need
        it here.
        """
        return self._metadata().key(store, key, partitioner)

    def all_local_store_partition_lags(self) -> dict[str, dict[int, LagInfo]]:
        """Store -> partition -> how far it has followed its changelog."""
        return self._metadata().lags()

    def _metadata(self, *, with_ends: bool = False) -> Metadata:
        engine = self._engine
        opened, query = engine.opened, engine.query
        if opened is None or query is None or not self.state.is_running_or_rebalancing:
            raise IllegalStateError(
                f"there is metadata while the application runs; it is {self.state.value}"
                + (": call `start()` first" if self.state is State.CREATED else "")
            )
        return Metadata(
            opened,
            self.config,
            self.state,
            engine.metrics,
            query.committer.base,
            (engine.ends() or {}) if with_ends else {},
            engine.restores.offsets(),
        )

    # what is in the stores -------------------------------------------------------------------------------------------

    def store(self, name: str) -> Any:
        """A store, to read from while the application runs: committed state only, all tasks as of one commit."""
        readers = self._engine.readers
        if readers is None or self.state is not State.RUNNING:
            raise StoreError(
                f"store `{name}` can be read while the application runs; it is {self.state.value}: "
                "call `wait_until_running()` first"
            )
        return readers.store(name)
