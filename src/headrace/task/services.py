"""The task as its nodes see it: where the record at hand is from, how late it is, and punctuators."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from headrace.config import StreamsConfig
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.processor import PunctuationType
from headrace.processors import NodeContext, Process
from headrace.processors.context import Alarm
from headrace.record import Headers, RecordMetadata, TaskId
from headrace.task.lanes import OneRow
from headrace.task.memory import Memory
from headrace.task.metrics import Counts
from headrace.task.position import Moment
from headrace.task.punctuation import PunctuationQueue, Schedule, first_due
from headrace.topology.callbacks import check_callable
from headrace.windows import milliseconds


class TaskServices:
    """What `headrace.processors.context.TaskContext` asks for."""

    def __init__(
        self,
        task_id: TaskId,
        application_id: str,
        config: StreamsConfig,
        clock: Callable[[], int],
        moment: Moment,
    ) -> None:
        self.application_id = application_id
        self.config = config
        self.task_id = task_id
        self.metrics = Counts()
        self.moment = moment
        self.commit_requested = False
        """Set when a processor asked for a commit; the host sets it back."""
        self._clock = clock
        self._position = moment.position
        self._memory = Memory()
        self._time = self._memory.cell("stream-time", -1)
        self._stream_queue = PunctuationQueue("stream", self._memory)
        self._wall_queue = PunctuationQueue("wall", self._memory)
        self._alarms: list[Alarm] = []
        self._state_dir = config.state_path / str(task_id)

    def metadata(self) -> RecordMetadata | None:
        return self._position.metadata()

    def forward_as(
        self,
        metadata: RecordMetadata | None,
        forward: Process,
        key: Any,
        value: Any,
        timestamp: int,
        headers: Headers,
    ) -> None:
        position = self._position
        rows, row = position.rows, position.row
        past = None if metadata is None else OneRow(*metadata, None, None, timestamp, headers)
        position.rows, position.row = past, 0
        forward(key, value, timestamp, headers)
        position.rows, position.row = rows, row

    def stream_time(self) -> int:
        return int(self._time.value)

    def wall_clock(self) -> int:
        return self._clock()

    def request_commit(self) -> None:
        self.commit_requested = True

    def at_wall_clock(self, alarm: Alarm) -> None:
        self._alarms.append(alarm)

    def schedule(
        self,
        node: NodeContext,
        interval: timedelta,
        type: PunctuationType,
        callback: Callable[[int], None],
        start: datetime | int | None = None,
    ) -> Schedule:
        every = milliseconds(interval, "interval")
        check_callable(callback, "schedule", "(time)", node=node.name)
        if not isinstance(type, PunctuationType):
            raise InvalidArgumentError(
                f"`schedule` takes `PunctuationType.STREAM_TIME` or `.WALL_CLOCK_TIME`, got {type!r}",
                node=node.name,
                origin=caller(),
            )
        if type is PunctuationType.STREAM_TIME:
            first = 0 if start is None else first_due(start, every, self.stream_time(), node.name)
            return self._stream_queue.add(node, first, every, callback)
        now = self._clock()
        first = now + every if start is None else first_due(start, every, now, node.name)
        return self._wall_queue.add(node, first, every, callback)

    @property
    def state_dir(self) -> Path:
        self._state_dir.mkdir(parents=True, exist_ok=True)
        return self._state_dir
