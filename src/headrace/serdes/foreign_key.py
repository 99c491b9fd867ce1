"""What the two tables of a foreign-key join write to each other, with the bytes of Kafka Streams.

subscription   version, 0x80 set if there is no hash (1) | instruction (1) | hash (16) | primary key | partition (4)
answer         version, 0x80 set if there is no hash (1) | hash (16) | row
store key      length of the foreign key (4) | foreign key | primary key
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from headrace.errors import MissingSerdeError
from headrace.serdes.base import Serde

UNSUBSCRIBE = 0
"""The row has left: forget it."""
UNSUBSCRIBE_AND_ANSWER = 1
"""The row has left: forget it, and answer that there is nothing."""
SUBSCRIBE_AND_ANSWER = 2
"""Answer in any case, with nothing if there is nothing."""
SUBSCRIBE = 3
"""Answer if there is something."""

_NO_HASH = 0x80
_SUBSCRIPTION_VERSION = 1
_HASH_SIZE = 16
_SIZE = Struct(">i")


class Subscription(NamedTuple):
    """A row of the left table asks for a row of the right one."""

    hash: bytes | None
    """Of the row that asks; None when it was deleted."""
    instruction: int
    key: Any
    """The key of the row that asks."""
    partition: int | None
    """Where it asks from; None if an old version of Kafka Streams wrote it."""


class Answer(NamedTuple):
    """The row of the right table for one row of the left one. The partition is for the sink: it is not written."""

    hash: bytes | None
    value: Any
    partition: int | None


def store_prefix(foreign_key: bytes) -> bytes:
    """What the keys of all who subscribed to a foreign key begin with."""
    return _SIZE.pack(len(foreign_key)) + foreign_key


class SubscriptionSerde(Serde[Subscription]):
    """Subscriptions. `inner` writes the primary key; None means the configuration's default key.

    >>> from headrace.serdes import Serdes
    >>> serde = SubscriptionSerde(Serdes.string())
    >>> serde.serialize(Subscription(None, UNSUBSCRIBE_AND_ANSWER, "A", 0)).hex()
    '81014100000000'
    """

    def __init__(self, inner: Serde[Any] | None) -> None:
        self.inner = inner
        if inner is not None:
            self._use(_subscription_writer(inner.serialize), _subscription_reader(inner.deserialize))

    def with_inner(self, inner: Serde[Any]) -> SubscriptionSerde:
        """The same with another serde for the primary key."""
        return SubscriptionSerde(inner)

    def serialize(self, value: Subscription) -> bytes:
        raise _without_inner("key")

    def deserialize(self, data: bytes) -> Subscription:
        raise _without_inner("key")

    def __reduce__(self) -> tuple[object, ...]:
        return (SubscriptionSerde, (self.inner,))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SubscriptionSerde) and self.inner == other.inner

    def __hash__(self) -> int:
        return hash((SubscriptionSerde, self.inner))


class AnswerSerde(Serde[Answer]):
    """Answers. `inner` writes the row; None means the configuration's default value.

    >>> from headrace.serdes import Serdes
    >>> AnswerSerde(Serdes.string()).deserialize(b"\\x80")
    Answer(hash=None, value=None, partition=None)
    """

    def __init__(self, inner: Serde[Any] | None) -> None:
        self.inner = inner
        if inner is not None:
            self._use(_answer_writer(inner.serialize), _answer_reader(inner.deserialize))

    def with_inner(self, inner: Serde[Any]) -> AnswerSerde:
        """The same with another serde for the row."""
        return AnswerSerde(inner)

    def serialize(self, value: Answer) -> bytes:
        raise _without_inner("value")

    def deserialize(self, data: bytes) -> Answer:
        raise _without_inner("value")

    def __reduce__(self) -> tuple[object, ...]:
        return (AnswerSerde, (self.inner,))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnswerSerde) and self.inner == other.inner

    def __hash__(self) -> int:
        return hash((AnswerSerde, self.inner))


def _subscription_writer(write_key: Callable[[Any], bytes]) -> Callable[[Subscription], bytes]:
    def serialize(subscription: Subscription) -> bytes:
        row, instruction, key, partition = subscription
        version = 0 if partition is None else _SUBSCRIPTION_VERSION
        where = b"" if partition is None else _SIZE.pack(partition)
        if row is None:
            return bytes((version | _NO_HASH, instruction)) + write_key(key) + where
        return bytes((version, instruction)) + row + write_key(key) + where

    return serialize


def _subscription_reader(read_key: Callable[[bytes], Any]) -> Callable[[bytes], Subscription]:
    def deserialize(data: bytes) -> Subscription:
        version = _version(data, _SUBSCRIPTION_VERSION)
        start, row, end, partition = 2, None, len(data), None
        if not data[0] & _NO_HASH:
            start, row = 2 + _HASH_SIZE, data[2 : 2 + _HASH_SIZE]
        if version:
            end -= _SIZE.size
            partition = _SIZE.unpack_from(data, end)[0]
        return Subscription(row, data[1], read_key(data[start:end]), partition)

    return deserialize


def _answer_writer(write: Callable[[Any], bytes]) -> Callable[[Answer], bytes]:
    def serialize(answer: Answer) -> bytes:
        row, value, _ = answer
        head = bytes((_NO_HASH,)) if row is None else b"\0" + row
        return head if value is None else head + write(value)

    return serialize


def _answer_reader(read: Callable[[bytes], Any]) -> Callable[[bytes], Answer]:
    def deserialize(data: bytes) -> Answer:
        _version(data, 0)
        if data[0] & _NO_HASH:
            row, rest = None, data[1:]
        else:
            row, rest = data[1 : 1 + _HASH_SIZE], data[1 + _HASH_SIZE :]
        # As in Kafka Streams, a row of no bytes at all is taken for none.
        return Answer(row, read(rest) if rest else None, None)

    return deserialize


def _version(data: bytes, highest: int) -> int:
    version = data[0] & ~_NO_HASH
    if version > highest:
        raise ValueError(f"expected at most version {highest}, got {version}: written by a newer library")
    return version


def _without_inner(part: str) -> MissingSerdeError:
    return MissingSerdeError(f"a table of the foreign-key join has no serde: give the tables `{part}=`")
