"""`TopologyTestDriver`: a whole topology in this process, one record at a time."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any

from headrace.config import StreamsConfig
from headrace.errors import ClosedStoreError, ProcessingError
from headrace.given import Time
from headrace.origin import caller
from headrace.record import NO_HEADERS, Headers, TaskId
from headrace.resolve import check_naming, check_optimization, check_serdes, check_topic_names
from headrace.state import CHANGELOG_HEADERS, Backend, Changelog, MemoryBackend, Store
from headrace.task import (
    Moment,
    Output,
    StreamTask,
    global_sub_topology,
    open_stores,
    protect,
    writable,
)
from headrace.testing.arguments import check_arguments
from headrace.testing.clock import ManualClock
from headrace.testing.getters import StoreGetters
from headrace.testing.queues import RawRecord, RecordQueues
from headrace.testing.serdes import TopicSerdes
from headrace.testing.topic_getters import TopicGetters
from headrace.topology.nodes import SinkNode, SourceNode, SubTopology
from headrace.topology.stores import StoreSpec
from headrace.topology.topology import Topology

if TYPE_CHECKING:
    from headrace.testing.disk import DriverDisk

KEPT = 100_000
"""Unread records that are kept of a changelog or repartition topic: few tests read them, and a long run must not fill
the memory with them.
"""


class TopologyTestDriver(StoreGetters, TopicGetters):
    """Runs a topology without Spark, Kafka or threads: pipe records in, read what comes out, look into stores.

    All sub-topologies run as one task with one partition, repartition topics loop straight back, and the wall clock
    stands still until `advance_wall_clock_time` moves it.

    >>> from headrace import StreamsBuilder
    >>> builder = StreamsBuilder()
    >>> builder.stream("words", value=str).group_by_key().count(store="counts").to_stream().to("out")
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     words = driver.input("words")
    ...     words.pipe("a", "x", timestamp=1)
    ...     words.pipe("a", "y", timestamp=2)
    ...     print(driver.output("out").read_key_values(), driver.store("counts").get("a"))
    [('a', 1), ('a', 2)] 2

    With `state_dir` persistent stores are on disk there, as they are in production; what they hold is gone with the
    driver.
    """

    __test__ = False  # pytest, this is not a test
    max_loops = 100_000
    """How many records one record may lead to in topics that the topology both writes and reads, before that is taken
    for a loop without an end."""
    _task_id = TaskId(0, 0)

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig | None = None,
        *,
        initial_wall_clock_time: Time | None = None,
        state_dir: str | Path | None = None,
    ) -> None:
        check_arguments(topology, config)
        self.config = StreamsConfig(application_id="topology-test-driver") if config is None else config
        self._closed = False
        self._counts: Counter[str] = Counter()
        self._clock = ManualClock(initial_wall_clock_time)
        self._serdes = TopicSerdes(topology, self.config)
        self._produced: dict[str, deque[RawRecord]] = {}
        self._offsets: dict[str, int] = {}
        self._queues = RecordQueues()
        self._output = Output(partitions=lambda topic: 1, in_order=_loops(topology) > 1)
        global_nodes = topology.global_stores
        specs = (*topology.stores.values(), *(node.store for node in global_nodes))
        check_serdes(topology.nodes.values(), specs, self.config)
        check_optimization(topology.optimizations, self.config)
        check_naming(topology, self.config)
        check_topic_names(topology, self.config)
        self._disk = None if state_dir is None else _disk(Path(state_dir), specs)
        self._global_stores: dict[str, Store] = {}
        self._global_tasks: dict[str, StreamTask] = {}
        for node in global_nodes:
            moment = Moment()
            opened = self._open([node.store], moment)
            self._global_stores.update(opened)
            task = self._task(global_sub_topology(node), opened, moment, frozenset())
            self._global_tasks.update(dict.fromkeys(node.source.topics, task))
        protect(self._global_stores.values())
        moment = Moment()
        hidden = {name for node in global_nodes for name in (node.source.name, node.processor.name)}
        nodes = tuple(node for name, node in topology.nodes.items() if name not in hidden)
        whole = self._whole(SubTopology(0, nodes, tuple(topology.stores.values())))
        self._stores = self._open(whole.stores, moment)
        self._make_main = partial(self._task, whole, self._stores, moment, topology.old_values)
        self._main = self._make_main()
        self._memory: bytes | None = None
        self._holding = False
        self._looped: Counter[str] = Counter()
        self._sinks = {n.topic: n for n in topology.nodes.values() if isinstance(n, SinkNode)}
        self._complete()

    # records --------------------------------------------------------------------------------------------------------

    def pipe_bytes(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> None:
        """Process one record as it is in the topic: for poison records, or bytes from elsewhere."""
        if self._closed:
            raise self._is_closed()
        self._feed(topic, (key, value, timestamp, headers))
        self._work()

    @contextmanager
    def one_commit(self) -> Iterator[None]:
        """Let several records be one commit, as they are in production; otherwise the driver commits after each. It
        matters where stores are cached: they send on the last value per key at each commit.

        >>> from headrace import Materialized, StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> words = builder.stream("words", value=str).group_by_key()
        >>> words.count(store=Materialized("counts", caching=True)).to_stream().to("out")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     with driver.one_commit():
        ...         driver.input("words").pipe_key_value_list([("a", "x"), ("b", "x"), ("a", "y")])
        ...     driver.output("out").read_key_values()
        [('b', 1), ('a', 2)]
        """
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
        self._main.flush()
        self._complete()

    # time -----------------------------------------------------------------------------------------------------------

    def advance_wall_clock_time(self, duration: timedelta) -> None:
        """Move the wall clock, and fire the punctuators that are then due (each once)."""
        if self._closed:
            raise self._is_closed()
        self._clock.advance(duration)
        self._main.punctuate(self._clock())
        if self._main.holds_back and not self._holding:
            self._main.flush()
        self._complete()

    def dropped_records(self) -> dict[tuple[str, str], int]:
        """How many records were ignored, as the semantics ask for: by node and reason.

        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> builder.stream("in", value=str).group_by_key().count(name="count").to_stream().to("out")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input("in").pipe(None, "x")
        ...     driver.dropped_records()
        {('count', 'null key or value'): 1}
        """
        return dict(self._main.dropped)

    # stores ---------------------------------------------------------------------------------------------------------

    def get_all_state_stores(self) -> Mapping[str, Store]:
        """Every store by name, as processors see them."""
        return MappingProxyType({**self._stores, **self._global_stores})

    def metrics(self) -> Mapping[str, int]:
        """What processors have counted with `context.metrics.add`."""
        for task in (self._main, *self._global_tasks.values()):
            self._counts.update(task.metrics.take())
        return MappingProxyType(dict(self._counts))

    # life -----------------------------------------------------------------------------------------------------------

    def restart(self) -> None:
        """Go on as if the process had been killed and started again: processors are made anew, and only what is in
        stores, and the task's own times, is still there. Shows whether a processor keeps state where it is safe.

        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> builder.stream("in", value=str).group_by_key().count(store="counts").to_stream().to("out")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input("in").pipe("a", "x")
        ...     driver.restart()
        ...     driver.input("in").pipe("a", "y")
        ...     driver.output("out").read_values()
        [1, 2]
        """
        self._memory = self._main.snapshot() or self._memory
        self._main = self._make_main()
        self._main.restore(self._memory)

    def close(self) -> None:
        """Close the processors and stores; what was written can still be read."""
        self._closed = True
        try:
            self._main.close()
            for task in self._global_tasks.values():
                task.close()
            self._capture()
        finally:
            for store in self.get_all_state_stores().values():
                store.close()
            if self._disk is not None:
                self._disk.close()

    def __enter__(self) -> TopologyTestDriver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # inside ---------------------------------------------------------------------------------------------------------

    def _whole(self, whole: SubTopology) -> SubTopology:
        """What of the topology this driver runs: all of it."""
        return whole

    def _open(self, specs: Any, moment: Moment) -> dict[str, Store]:
        return open_stores(
            specs,
            self.config,
            moment,
            backend=self._backend,
            changelog=self._changelog,
        )

    def _backend(self, spec: StoreSpec) -> Backend:
        if self._disk is None or not spec.persistent:
            return MemoryBackend()
        return self._disk.backend(spec.name)

    def _changelog(self, spec: StoreSpec) -> Changelog | None:
        if spec.changelog_topic is not None:
            return None
        topic = f"{self.config.application_id}-{spec.name}-changelog"
        return self._writer(topic, CHANGELOG_HEADERS.get(spec.kind, NO_HEADERS))

    def _writer(self, topic: str, headers: Headers) -> Callable[[bytes, bytes | None, int], None]:
        def write(key: bytes, value: bytes | None, timestamp: int) -> None:
            queue = self._produced.get(topic)
            if queue is None:
                queue = self._produced[topic] = deque(maxlen=KEPT)
            queue.append((key, value, timestamp, NO_HEADERS if value is None else headers))

        return write

    def _task(
        self, sub: SubTopology, stores: Mapping[str, Store], moment: Moment, old_values: frozenset[str]
    ) -> StreamTask:
        return StreamTask(
            sub,
            self._task_id,
            application_id=self.config.application_id,
            stores=stores,
            global_stores=self._global_stores,
            output=self._output,
            config=self.config,
            clock=self._clock,
            old_values=old_values,
            moment=moment,
        )

    def _feed(self, topic: str, record: RawRecord) -> None:
        if topic in self._global_tasks:
            task = self._global_tasks[topic]
            with writable(self._global_stores.values()):
                self._run(task, topic, record)
                task.flush()
        else:
            self._queues.add(topic, record)

    def _complete(self) -> None:
        """Go on from what was written without a record: by a start, a punctuator or a flush."""
        self._capture()
        self._work()

    def _work(self) -> None:
        """Until nothing is left: take the record with the lowest head timestamp, and feed back what it gives."""
        take, task, capture = self._queues.take, self._main, self._capture
        looped, most = self._looped, self.max_loops
        looped.clear()
        try:
            while (taken := take()) is not None:
                self._run(task, *taken)
                if task.holds_back and not self._holding:
                    task.flush()
                capture()
                if looped and max(looped.values()) > most:
                    raise self._endless()
        except BaseException:
            capture()
            raise
        if self._disk is not None:
            self._disk.step()

    def _endless(self) -> ProcessingError:
        """What goes round is dropped, so that the driver can be used again."""
        ((topic, count),) = self._looped.most_common(1)
        self._queues = RecordQueues()
        sink = self._sinks.get(topic)
        return ProcessingError(
            f"one record has led to {count:,} others in the topic `{topic}`, which the topology both writes and reads: "
            "if it is to end, let some records out of the loop with `filter`, or set `driver.max_loops` higher",
            node=None if sink is None else sink.name,
            origin=None if sink is None else sink.origin,
        )

    def _is_closed(self) -> ClosedStoreError:
        return ClosedStoreError(
            "this driver is closed: pipe records before `close`, inside the `with` block", origin=caller()
        )

    def _run(self, task: StreamTask, topic: str, record: RawRecord) -> None:
        offset = self._offsets[topic] = self._offsets.get(topic, -1) + 1
        task.process_record(topic, self._task_id.partition, offset, *record)

    def _capture(self) -> None:
        for column in self._output.written():
            topic, repartition = column.topic, column.repartition
            records = column.records()
            name = f"{self.config.application_id}-{topic}" if repartition else topic
            queue = self._produced.get(name)
            if queue is None:
                queue = self._produced[name] = deque(maxlen=KEPT if repartition else None)
            queue.extend(records)
            looping = not repartition and self._serdes.source(topic) is not None
            if repartition or looping:
                for record in records:
                    self._feed(topic, record)
            if looping:
                self._looped[topic] += len(records)


def _loops(topology: Topology) -> int:
    """How many topics a topology both writes and reads."""
    sinks = {node.topic for node in topology.nodes.values() if isinstance(node, SinkNode)}
    return len({t for n in topology.nodes.values() if isinstance(n, SourceNode) for t in n.topics} & sinks)


def _disk(path: Path, specs: Iterable[StoreSpec]) -> DriverDisk:
    # Here and not above: only a driver that is told to needs LMDB.
    from headrace.testing.disk import DriverDisk

    return DriverDisk(path, specs)
