"""How far a restore is, told by a worker to the driver while a batch runs: lines of JSON over a socket.

Most batches restore nothing, and most restores are over before anybody could read of them: the socket is opened by the
first one that takes longer than `PATIENCE`. What a restore did in the end is in the report of its task in any case.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from headrace.spark.commit import Plan, Restored, encode
from headrace.spark.hosts import place
from headrace.state.stamps import TASK_STORE, Filling

if TYPE_CHECKING:
    from headrace.spark.hosted import HostedTask

PATIENCE = 0.1
"""Seconds of a restore before anything is told, and between two messages about a store."""
_CONNECT_SECONDS = 2.0

logger = logging.getLogger("headrace")

Kind = Literal["waiting", "start", "progress", "end", "suspended"]


class RestoreEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """A store that is being restored from its changelog: it begins, has come so far, is done, or was interrupted.

    `waiting` says that a task will have to restore a store when its turn comes.
    """

    kind: Kind
    task: str
    store: str
    topic: str
    """Its changelog."""
    partition: int
    start: int
    end: int
    """The first offset to read, and where it stops."""
    offset: int
    """How far it came."""
    records: int = 0
    """Records read so far. Offsets have gaps, so this may stay below `total`."""
    bytes: int = 0
    seconds: float = 0.0
    host: str = ""

    @property
    def total(self) -> int:
        """The most records that there can be."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Channel:
    """Where the driver listens, and the word that lets one in."""

    host: str
    port: int
    token: str


class Hello(msgspec.Struct, frozen=True):
    """The first line of whoever connects."""

    token: str


class RestoreReporter:
    """Sends events to the driver. Whatever goes wrong with that, the restore itself goes on."""

    def __init__(self, channel: Channel | None) -> None:
        self._channel = channel
        self._socket: socket.socket | None = None

    def watch(self, task: HostedTask, plan: Plan) -> RestoreWatch:
        """What hears of the restore of a task's stores in this batch."""
        return RestoreWatch(self, task, plan)

    @property
    def is_on(self) -> bool:
        """Whether anybody listens."""
        return self._channel is not None

    def send(self, event: RestoreEvent) -> None:
        """Tell the driver."""
        if self._channel is None:
            return
        try:
            if self._socket is None:
                address = (self._channel.host, self._channel.port)
                self._socket = socket.create_connection(address, timeout=_CONNECT_SECONDS)
                self._socket.sendall(encode(Hello(self._channel.token)) + b"\n")
            self._socket.sendall(encode(event) + b"\n")
        except OSError as error:
            logger.warning("the driver cannot be told how far the restore is: %s", error)
            self.close()
            self._channel = None

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class RestoreWatch:
    """Follows the stores of one task through one `prepare`."""

    __slots__ = ("_began", "_heard", "_last", "_plan", "_reporter", "_sent", "_task")

    def __init__(self, reporter: RestoreReporter, task: HostedTask, plan: Plan) -> None:
        self._reporter = reporter
        self._task = task
        self._plan = plan
        self._began: float | None = None
        self._last = 0.0
        self._heard: dict[str, Filling] = {}
        self._sent: set[str] = set()

    def __call__(self, filling: Filling) -> None:
        if filling.store == TASK_STORE or not self._reporter.is_on:
            return
        now = time.monotonic()
        if self._began is None:
            self._began = now
        self._heard[filling.store] = filling
        if now - self._began < PATIENCE:
            return
        if not self._sent:
            for task in self._task.tasks_waiting():
                for waiting in task.stores_to_rebuild(self._plan):
                    self._reporter.send(event_of("waiting", task, waiting))
        for store, known in self._heard.items():
            if store not in self._sent:
                self._sent.add(store)
                self._reporter.send(event_of("start", self._task, known))
                if known.is_done:
                    self._reporter.send(event_of("end", self._task, known))
            elif known is not filling:
                continue
            elif known.is_done:
                self._reporter.send(event_of("end", self._task, known))
            elif now - self._last >= PATIENCE:
                self._last = now
                self._reporter.send(event_of("progress", self._task, known))


def event_of(kind: Kind, task: HostedTask, filling: Filling) -> RestoreEvent:
    """What there is to say of a store that is being filled."""
    return RestoreEvent(
        kind,
        str(task.id),
        filling.store,
        task.changelogs.topic(filling.store),
        task.id.partition,
        filling.start,
        filling.end,
        filling.at,
        filling.records,
        filling.bytes,
        filling.seconds,
        place().host,
    )


def restored(task: HostedTask, fillings: Sequence[Filling]) -> list[Restored]:
    """What a report says of the stores that were filled."""
    return [
        Restored(
            filling.store,
            task.changelogs.topic(filling.store),
            filling.start,
            filling.end,
            filling.records,
            filling.bytes,
            filling.seconds,
        )
        for filling in fillings
        if filling.store != TASK_STORE
    ]
