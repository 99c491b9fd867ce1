"""Two starts of one application must not run at once: a lease in its commits topic, taken before the first transaction.

The lease is for courtesy and for the message: Kafka's own fencing is what keeps a zombie out. A second start without a
lease would fence the first one, though, which is why it asks here first.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from typing import Any

import msgspec
from confluent_kafka import KafkaException, Producer

from headrace.errors import AlreadyRunningError, HeadraceError, LogError
from headrace.log.base import TopicPartition
from headrace.log.commits import LEASE_KEY
from headrace.log.kafka import settings
from headrace.log.kafka.commits import newest, records
from headrace.log.kafka.connection import LATEST, Connection
from headrace.log.kafka.process import Process, this_process
from headrace.log.kafka.reader import Reader

HEARTBEAT_SECONDS = 5.0
EXPIRY_SECONDS = 15.0

_given_up: set[str] = set()
"""Owners of this process that want their lease no more, also where the topic could not be told."""


class Lease(msgspec.Struct, frozen=True):
    """Who runs the application. A process that takes over has a higher epoch."""

    owner: str
    epoch: int
    process: Process
    heartbeat: float
    released: bool = False

    def is_live(self) -> bool:
        """Whether its holder runs: on this host by looking, elsewhere by the age of its heartbeat."""
        if self.released or self.owner in _given_up:
            return False
        if self.process.is_here():
            return self.process.is_alive()
        return time.time() - self.heartbeat < EXPIRY_SECONDS


class LeaseKeeper:
    """Takes the lease, keeps it fresh from a thread of its own, and gives it back."""

    def __init__(self, connection: Connection, topic: str, application_id: str, *, take_over: bool) -> None:
        self._connection = connection
        self._place = TopicPartition(topic, 0)
        self._application_id = application_id
        self._producer: Any = settings.make(Producer, settings.producer(connection.config))
        self._reader = Reader(connection, isolation="read_uncommitted")
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._lost = False
        try:
            self._acquire(take_over)
        except BaseException:
            self._reader.close()
            raise
        self._thread = threading.Thread(target=self._keep, name=f"lease of {application_id}", daemon=True)
        self._thread.start()
        connection.on_close(self._stop.set)

    @property
    def owner(self) -> str:
        """A name that no other start has."""
        return self._mine.owner

    def _acquire(self, take_over: bool) -> None:
        topic = self._place.topic
        before = self._end()
        found = newest(self._connection, topic, LEASE_KEY, isolation="read_uncommitted")
        current = _decode(found.value) if found is not None else None
        if current is not None and current.is_live() and not take_over:
            raise self._refuse(current)
        epoch = current.epoch + 1 if current is not None else 1
        self._mine = Lease(uuid.uuid4().hex, epoch, this_process(), time.time())
        self._write(self._mine)
        self._seen = self._end()
        for rival in self._leases(before, self._seen):
            if rival.owner == self._mine.owner:
                return
            if rival.is_live() and not take_over:
                # It looked at the same moment and was first: say so in the topic again, and leave.
                self._write(rival)
                raise self._refuse(rival)

    def _refuse(self, holder: Lease) -> AlreadyRunningError:
        process = holder.process
        return AlreadyRunningError(
            f"application `{self._application_id}` is already running: process {process.pid} on host "
            f"`{process.host}` holds it; stop that one first, use another `application_id`, or start with "
            "`take_over=True` (`--take-over`) to fence it"
        )

    @property
    def is_lost(self) -> bool:
        """Whether somebody has taken over, as far as was noticed by now: without asking."""
        return self._lost

    def is_mine(self) -> bool:
        """Whether nobody has taken over, as far as the topic says."""
        with self._lock:
            if not self._lost:
                end = self._end()
                self._lost = any(lease.epoch > self._mine.epoch for lease in self._leases(self._seen, end))
                self._seen = max(end, self._seen)
            return not self._lost

    def _keep(self) -> None:
        while not self._stop.wait(HEARTBEAT_SECONDS):
            # A broker that is away is the publisher's business; a closed client means that the process is ending.
            with contextlib.suppress(HeadraceError, RuntimeError):
                if not self.is_mine():
                    return
                self._write(msgspec.structs.replace(self._mine, heartbeat=time.time()))

    def release(self) -> None:
        """Give the lease back, unless somebody has it already."""
        self._stop.set()
        self._thread.join()
        _given_up.add(self.owner)
        with contextlib.suppress(HeadraceError):
            if self.is_mine():
                self._write(msgspec.structs.replace(self._mine, released=True))
        self._reader.close()

    def _end(self) -> int:
        return self._connection.offsets({self._place: LATEST}, isolation="read_uncommitted")[self._place]

    def _leases(self, low: int, high: int) -> list[Lease]:
        found = records(self._reader, self._place.topic, low, high, LEASE_KEY)
        return [lease for lease in (_decode(record.value) for record in found) if lease is not None]

    def _write(self, lease: Lease) -> None:
        failed: list[Any] = []
        try:
            self._producer.produce(
                self._place.topic,
                msgspec.json.encode(lease),
                LEASE_KEY,
                0,
                on_delivery=lambda error, _: failed.append(error) if error is not None else None,
            )
        except (KafkaException, BufferError) as error:
            raise LogError(
                f"the lease of application `{self._application_id}` cannot be written: {error}"
            ) from error
        if self._producer.flush(settings.TIMEOUT) or failed:
            why = failed[0].str() if failed else "no answer"
            raise LogError(f"the lease of application `{self._application_id}` cannot be written: {why}")


def _decode(value: bytes | None) -> Lease | None:
    try:
        return msgspec.json.decode(value, type=Lease) if value is not None else None
    except msgspec.DecodeError:
        return None  # not ours: whoever writes into this topic by hand loses only the courtesy
