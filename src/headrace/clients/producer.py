"""Writing records to topics from any Python program."""

from __future__ import annotations

import atexit
import concurrent.futures.thread  # noqa: F401  # Arrow wants it on first use, and at the end of a program it is too late
import threading
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from headrace.clients.buffer import Buffer
from headrace.clients.connect import connect
from headrace.clock import now_ms
from headrace.errors import HeadraceError, LogError, SerializationError
from headrace.given import HeadersLike, Time, to_headers, to_milliseconds
from headrace.log import TopicLog
from headrace.origin import caller
from headrace.serdes import Serde, explain_write, serde_for
from headrace.windows import milliseconds

if TYPE_CHECKING:  # what a checker takes for the types that nobody named
    from typing_extensions import TypeVar

    K = TypeVar("K", default=Any)
    V = TypeVar("V", default=Any)
else:
    K, V = typing.TypeVar("K"), typing.TypeVar("V")

_FULL_RECORDS = 20_000
_FULL_BYTES = 8 * 1024 * 1024


class Producer(Generic[K, V]):
    """Sends records to the topics of the embedded log in `data_dir`, or of Kafka with `bootstrap_servers`.

    `key` and `value` are types or serdes, as for a stream. Without them each key and value is written as its own type
    says: `str`, `int` (Kafka's long), `float`, `bytes`, a dataclass, a dict and so on (JSON). None is Kafka's null.

    What is sent is written within `linger`, in order, many records at a time; `flush` waits for it. The records of a
    `transaction` are seen all at once or not at all, in whatever topics they are.

    >>> import tempfile
    >>> from headrace import Admin, Consumer
    >>> folder = tempfile.mkdtemp()
    >>> with Admin(data_dir=folder) as admin:
    ...     admin.create_topic("amounts", partitions=1)
    >>> with Producer(data_dir=folder) as producer:
    ...     producer.send("amounts", "alice", 5)
    ...     producer.send("amounts", "bob", 7, timestamp=1000, headers={"source": "web"})
    >>> with Consumer("amounts", value=int, data_dir=folder, from_beginning=True) as consumer:
    ...     [(record.key, record.value) for record in consumer.read_to_end()]
    [('alice', 5), ('bob', 7)]
    """

    def __init__(
        self,
        *,
        key: type[K] | Serde[K] | None = None,
        value: type[V] | Serde[V] | None = None,
        data_dir: str | Path = ".headrace",
        bootstrap_servers: str | None = None,
        kafka: Mapping[str, str] | None = None,
        linger: timedelta = timedelta(milliseconds=20),
    ) -> None:
        self._key = None if key is None else serde_for(key)
        self._value = None if value is None else serde_for(value)
        self._linger = milliseconds(linger, "linger", positive=False) / 1000
        self._log: TopicLog = connect(data_dir, bootstrap_servers, kafka, create=True, upkeep=True)
        self._topics: dict[str, tuple[int, bool]] = {}
        # Guards what waits; that of the writing keeps the order and is taken first.
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting = Buffer()
        self._transaction: Buffer | None = None
        self._error: Exception | None = None
        self._stuck = False
        """Whether the last try failed, so that the next record starts another."""
        self._wake, self._closing = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._open = True
        atexit.register(self.close)  # a program that ends without a `close` loses nothing, either

    def send(
        self,
        topic: str,
        key: K | None,
        value: V | None,
        *,
        timestamp: Time | None = None,
        headers: HeadersLike = (),
        partition: int | None = None,
    ) -> None:
        """Write a record, now or within `linger`; without a `timestamp` its time is now.

        The partition is that of the key by murmur2, as Kafka's own producers have it; records without a key take
        turns. What can be found wrong with a record is told here, and what failed later by the next call.

        >>> import tempfile
        >>> producer = Producer(value=int, data_dir=tempfile.mkdtemp())
        >>> producer.send("amount", "alice", 5)
        Traceback (most recent call last):
        headrace.errors.LogError: topic `amount` does not exist in the log in ...
        """
        self._check()
        partitions, compacted = self._topics.get(topic) or self._look_up(topic)
        if partition is not None and partition >= partitions:
            partitions, _ = self._look_up(topic)  # perhaps it has more by now
        if partition is not None and not 0 <= partition < partitions:
            raise LogError(
                f"topic `{topic}` has partitions 0 to {partitions - 1}, got partition {partition}",
                origin=caller(),
            )
        if key is None and compacted:
            raise LogError(
                f"topic `{topic}` is compacted, so every record needs a key; got one without", origin=caller()
            )
        key_bytes = None if key is None else _written("key", topic, self._key, key)
        value_bytes = None if value is None else _written("value", topic, self._value, value)
        at = now_ms() if timestamp is None else to_milliseconds(timestamp, "timestamp")
        with self._lock:
            buffer = self._waiting if self._transaction is None else self._transaction
            buffer.add(topic, key_bytes, value_bytes, at, to_headers(headers) if headers else (), partition)
            is_first = buffer is self._waiting and buffer.records == 1
            is_full = buffer is self._waiting and (
                buffer.records >= _FULL_RECORDS or buffer.bytes >= _FULL_BYTES
            )
        if is_full:
            self.flush()
        elif is_first or (self._stuck and self._transaction is None):
            self._write_soon()

    def flush(self) -> None:
        """Write all that was sent, and return when it is in the log; after an error the records wait for the next try.

        >>> import tempfile
        >>> from headrace import Admin
        >>> folder = tempfile.mkdtemp()
        >>> Admin(data_dir=folder).create_topic("amounts")
        >>> producer = Producer(data_dir=folder)
        >>> producer.send("amounts", "alice", 5)
        >>> producer.flush()
        """
        if self._transaction is not None:
            raise LogError(
                "inside a `transaction` there is nothing to flush: it is written at its end", origin=caller()
            )
        self._check(failed=False)
        self._error = None
        self._write()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Records sent in the block are written together when it ends, and not at all if it raises.

        >>> import tempfile
        >>> from headrace import Admin
        >>> folder = tempfile.mkdtemp()
        >>> with Admin(data_dir=folder) as admin:
        ...     admin.create_topic("payments")
        ...     admin.create_topic("receipts")
        >>> with Producer(data_dir=folder) as producer, producer.transaction():
        ...     producer.send("payments", "alice", 5)
        ...     producer.send("receipts", "alice", "paid 5")
        """
        self._check()
        if self._transaction is not None:
            raise LogError("a transaction is open already: end it first", origin=caller())
        self._write()  # what was sent before comes before
        self._transaction = Buffer()
        try:
            yield
            with self._writing:
                self._log.append(self._transaction.outgoing(self._partitions_of), atomic=True)
        finally:
            self._transaction = None

    def close(self) -> None:
        """Write what waits, and give the log back."""
        if not self._open:
            return
        self._open = False
        atexit.unregister(self.close)
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        try:
            self._write()
        except HeadraceError as error:
            raise type(error)(
                f"{error.message}\n  {self._waiting.records} records that were sent are not written"
            ) from error
        finally:
            self._log.close()

    def __enter__(self) -> Producer[K, V]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self, *, failed: bool = True) -> None:
        if not self._open:
            raise LogError("the producer is closed", origin=caller())
        if failed and self._error is not None:
            error, self._error = self._error, None
            raise error

    def _look_up(self, topic: str) -> tuple[int, bool]:
        found = self._log.describe(topic)
        self._topics[topic] = found.partitions, "compact" in found.config.get("cleanup.policy", "delete")
        return self._topics[topic]

    def _partitions_of(self, topic: str) -> int:
        """As it is now: who chooses a partition for others must not place them by what once was."""
        return self._look_up(topic)[0]

    def _write(self) -> None:
        with self._writing:
            with self._lock:
                taken, self._waiting = self._waiting, Buffer()
            if not taken.records:
                return
            try:
                self._log.append(taken.outgoing(self._partitions_of), atomic=False)
                self._stuck = False
            except BaseException:
                self._stuck = True
                self._topics.clear()  # perhaps they are not what they were
                with self._lock:  # nothing is lost: another try may find room, or the broker
                    taken.extend(self._waiting)
                    self._waiting = taken
                raise

    def _write_soon(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="producer", daemon=True)
            self._thread.start()
        self._wake.set()

    def _run(self) -> None:
        while self._open:
            self._wake.wait()
            self._wake.clear()
            if self._open:
                self._closing.wait(self._linger)
                try:
                    self._write()
                except Exception as error:
                    self._error = error  # whoever calls next hears of it


def _written(part: str, topic: str, serde: Serde[Any] | None, value: Any) -> bytes:
    chosen = serde_for(type(value)) if serde is None else serde
    try:
        return chosen.serialize(value)
    except Exception as error:
        raise SerializationError(
            f"the {part} cannot be sent to `{topic}`: {explain_write(chosen, value, error)}", origin=caller()
        ) from error
