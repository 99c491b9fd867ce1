"""One task: a sub-topology, compiled, over one set of stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

from headrace.config import StreamsConfig
from headrace.errors import UnknownNodeError
from headrace.log.base import Chunk
from headrace.processors import Process, build
from headrace.processors.custom import is_settled
from headrace.record import NO_HEADERS, Headers, TaskId
from headrace.resolve import extractor_of, node_serdes
from headrace.state import CustomStore
from headrace.store import StateStore
from headrace.task.caches import caches_of, remembering
from headrace.task.failures import Failures
from headrace.task.lanes import Lane, merge_order
from headrace.task.lifetimes import Lifetimes
from headrace.task.lines import Lines
from headrace.task.nodes import TaskNode, fan_out
from headrace.task.output import Output
from headrace.task.position import Moment
from headrace.task.punctuation import NEVER, Schedule
from headrace.task.services import TaskServices
from headrace.task.sinks import build_sink
from headrace.task.sources import Source
from headrace.topology.nodes import ProcessorNode, SinkNode, SourceNode, SubTopology
from headrace.topology.operators import Process as CustomProcess
from headrace.topology.operators import TableTransformValues


class StreamTask(TaskServices):
    """Runs the nodes of a sub-topology over chunks of records, in Kafka Streams' order.

    The host opens the stores, brings them to the last commit, calls `process` and `flush` for every batch and takes
    what was written from `output`. After an error the batch is void: `restore` the last snapshot, or make a new task
    where there is users' state.
    """

    def __init__(
        self,
        sub: SubTopology,
        task_id: TaskId,
        *,
        application_id: str,
        stores: Mapping[str, Any],
        output: Output,
        config: StreamsConfig,
        clock: Callable[[], int],
        global_stores: Mapping[str, Any] | None = None,
        old_values: frozenset[str] = frozenset(),
        moment: Moment | None = None,
    ) -> None:
        super().__init__(task_id, application_id, config, clock, Moment() if moment is None else moment)
        self.dropped: Counter[tuple[str, str]] = Counter()
        """How many records each (node, reason) has ignored, as the semantics ask for."""
        self.output = output
        # As in Kafka Streams, what cannot be read of a global table is no dead letter: every host would write it.
        self._failures = Failures(config, task_id, self._position, output if sub.id >= 0 else None)
        # Nobody but a user's processor can ask for the task's own time: others track theirs themselves.
        self._timed = any(
            isinstance(n, ProcessorNode) and isinstance(n.operator, CustomProcess) for n in sub.nodes
        )
        self._customs = [store for store in stores.values() if isinstance(store, CustomStore)]
        self.has_users_state = bool(self._customs) or any(
            isinstance(n, ProcessorNode) and isinstance(n.operator, CustomProcess | TableTransformValues)
            for n in sub.nodes
        )
        """Whether a user's own processors or stores may keep something in memory. It cannot be taken back, so the
        host has to make a new task after a batch that failed, or that another process has run."""
        if self._customs:
            stores = {**stores, **{s.name: self._begin(s) for s in self._customs}}
        self._closes: list[Callable[[], None]] = []
        self._lines = Lines(sub.nodes, self._position, self._time)
        self._has_lines = bool(self._lines)
        self._batches: list[Callable[[], None]] = []
        self._caches = caches_of(sub.nodes, stores)
        self.holds_back = bool(self._caches or self._customs)
        """Whether `flush` has anything to do."""
        self._sources = self._compile(sub, stores, global_stores or {}, config, old_values)
        self._by_topic: dict[str, Source] = {topic: s for s in self._sources for topic in s.node.topics}

    # the host's side ------------------------------------------------------------------------------------------------

    def process(self, chunks: Sequence[Chunk]) -> None:
        """Run every record of a batch. Chunks of one partition come in offset order."""
        for begin in self._batches:
            begin()
        inputs: dict[tuple[int, str], dict[int, list[Chunk]]] = {}
        for chunk in chunks:
            if len(chunk):
                order = self._source(chunk.topic).order
                inputs.setdefault((order, chunk.topic), {}).setdefault(chunk.partition, []).append(chunk)
        ready: list[tuple[Source, list[Lane]]] = []
        ahead: list[list[tuple[Source, list[Lane]]]] = []
        for topic, partitions in sorted(inputs.items()):
            source = self._sources[topic[0]]
            in_order = [partitions[partition] for partition in sorted(partitions)]
            made = [(source, lanes) for lanes in source.lanes(in_order)]
            if source.node.ahead:
                ahead.append(made)
            else:
                ready += made
        try:
            for made in (*reversed(ahead), ready):
                if made:
                    self._run(made)
                    self._lines.drain()
        except BaseException:
            self._lines.cancel()
            raise

    def _run(self, ready: Sequence[tuple[Source, Sequence[Lane]]]) -> None:
        if self._timed or len(ready) > 1:
            self._run_merged(ready)
        else:
            for source, lanes in ready:
                for lane in lanes:
                    source.run(lane)

    def process_record(
        self,
        topic: str,
        partition: int,
        offset: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
    ) -> None:
        """Run one record: the same as a batch of it, without the columns."""
        source = self._by_topic.get(topic) or self._source(topic)
        try:
            source.run_one(topic, partition, offset, key, value, timestamp, headers)
            if self._has_lines:
                self._lines.drain()
            if self._timed and self._stream_queue.due <= self._time.value:
                self._stream_queue.fire(self._time.value, self._punctuate)
                self._lines.drain()
        except BaseException:
            self._lines.cancel()
            raise

    def flush(self) -> None:
        """Write what the record cache holds to the stores, and send it on; let the users' stores write what they have
        held back. To be called before each commit.
        """
        if self._caches:
            for cache in self._caches:
                cache.flush()
            self._lines.drain()
        for store in self._customs:
            store.flush()

    def forget_reads(self) -> None:
        """Empty the record cache, after a commit: another process may go on with this task's stores."""
        for cache in self._caches:
            cache.clear()

    def punctuate(self, now: int) -> bool:
        """Fire the wall-clock punctuators and operators that are due; whether there were any."""
        try:
            fired = self._wall_queue.fire(now, self._punctuate)
            self._lines.drain()
            for alarm in self._alarms:
                due = alarm.due()
                if due is not None and due <= now:
                    alarm.ring(now)
                    fired = True
            self._lines.drain()
        except BaseException:
            self._lines.cancel()
            raise
        return fired

    def take_dropped(self) -> int:
        """How many records were ignored since the last call."""
        dropped = self.dropped.total()
        self.dropped.clear()
        return dropped

    def next_wall_clock_due(self) -> int | None:
        """When the next wall-clock punctuator, or operator that goes by the wall clock, is due."""
        punctuator = None if self._wall_queue.due == NEVER else self._wall_queue.due
        dues = (punctuator, *(alarm.due() for alarm in self._alarms))
        return min((due for due in dues if due is not None), default=None)

    def snapshot(self) -> bytes | None:
        """What the operators remember beside their stores; None when it has not changed since the last call."""
        return self._memory.snapshot()

    def restore(self, snapshot: bytes | None) -> None:
        """Go on from a snapshot; None is the very beginning."""
        self._lines.cancel()
        self._memory.restore(snapshot)
        self._stream_queue.refresh()
        self._wall_queue.refresh()
        self._position.rows = None
        self.forget_reads()
        self.output.clear()

    def close(self) -> None:
        """Close the processors and the users' stores, each of them even if another one fails."""
        self._lines.cancel()
        closes, self._closes = [*self._closes, *(store.close for store in self._customs)], []
        failure: Exception | None = None
        for action in closes:
            try:
                action()
            except Exception as error:
                failure = error
        if failure is not None:
            raise failure

    # inside ---------------------------------------------------------------------------------------------------------

    def _begin(self, store: CustomStore) -> StateStore:
        return store.begin(self.application_id, self.task_id, self._state_dir)

    def _compile(
        self,
        sub: SubTopology,
        stores: Mapping[str, Any],
        global_stores: Mapping[str, Any],
        config: StreamsConfig,
        old_values: frozenset[str],
    ) -> list[Source]:
        """Children first, so that every closure holds its children's closures directly."""
        names: dict[str, list[str]] = {node.name: [] for node in sub.nodes}
        for node in sub.nodes:
            if not isinstance(node, SourceNode):
                for parent in node.parents:
                    names[parent].append(node.name)
        lifetimes = Lifetimes(sub, stores, self._memory, self._position, self.moment, self._clock)
        self._alarms += lifetimes.alarms()
        built: dict[str, Process] = {}
        sources: list[Source] = []
        starts: list[Callable[[], None]] = []
        count = sum(isinstance(node, SourceNode) for node in sub.nodes)
        for node in reversed(sub.nodes):
            children = self._lines.between(node.name, {name: built[name] for name in names[node.name]})
            if isinstance(node, SinkNode):
                built[node.name] = build_sink(
                    node, node_serdes(node, config), self.output, self._position, self._failures
                )
            elif isinstance(node, SourceNode):
                serdes, forward = node_serdes(node, config), fan_out(tuple(children.values()))
                time = self._time if self._timed else None
                internal = None
                if node.repartition:
                    internal = (f"{self.application_id}-{node.topics[0]}", self.task_id.partition)
                parts = (self._position, self._failures, self._memory, time, internal)
                when = extractor_of(node, config), self._clock
                sources.append(Source(node, count - len(sources) - 1, serdes, forward, *parts, *when))
            else:
                context = TaskNode(
                    node,
                    children,
                    task=self,
                    stores=stores,
                    global_stores=global_stores,
                    memory=self._memory,
                    failures=self._failures,
                    dropped=self.dropped,
                    starts=starts,
                    batches=self._batches,
                    closes=self._closes,
                    lines=self._lines,
                    sends_old_values=node.name in old_values,
                    filled_by={s.name: s.filled_by for s in sub.stores if s.filled_by is not None},
                    config=config,
                )
                process = build(node.operator, context)
                if caches_of((node,), stores):
                    process = remembering(process, self.moment)
                built[node.name] = lifetimes.around(
                    node, process, context.forward, old_values=context.sends_old_values
                )
        self._closes.reverse()
        for start in reversed(starts):
            start()
        self._stream_queue.starting = self._wall_queue.starting = False
        return sources[::-1]

    def _source(self, topic: str) -> Source:
        found = self._by_topic.get(topic)
        if found is None:
            for source in self._sources:
                if source.node.pattern is not None and source.node.pattern.fullmatch(topic):
                    found = self._by_topic[topic] = source
                    break
            else:
                known = ", ".join(f"`{name}`" for name in self._by_topic)
                raise UnknownNodeError(f"no source of this task reads the topic `{topic}`; it reads: {known}")
        return found

    def _run_merged(self, ready: Sequence[tuple[Source, Sequence[Lane]]]) -> None:
        """Several partitions, or nodes that ask for the task's time: one record after the other."""
        records = [
            record
            for source, lanes in ready
            for lane in lanes
            for record in zip(
                repeat(source.accept_ready if lane.ready else source.accept),
                repeat(lane.rows),
                lane.numbers,
                lane.keys,
                lane.values,
                lane.timestamps,
                repeat(NO_HEADERS) if lane.headers is None else lane.headers,
            )
        ]
        order = merge_order([[lane.timestamps for lane in lanes] for _, lanes in ready])
        position, time, queue = self._position, self._time, self._stream_queue
        for place in order:
            accept, position.rows, position.row, key, value, timestamp, headers = records[place]
            accept(key, value, timestamp, headers)
            if queue.due <= time.value:
                self._lines.drain()
                position.rows = None
                queue.fire(time.value, self._punctuate)
        position.rows = None

    def _punctuate(self, schedule: Schedule, now: int) -> None:
        self.moment.time = now
        try:
            schedule.callback(now)
        except Exception as error:
            if is_settled(error):
                raise
            schedule.node.failed(error, now, NO_HEADERS)
