"""The commit record and the plan of a batch: what the log says is true, and what the next batch is to do."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

VERSION = 1

T = TypeVar("T")


class TaskCommit(msgspec.Struct, frozen=True, omit_defaults=True):
    """The accepted attempt of a task, and the commit in which it last changed anything."""

    commit: int
    attempt: str
    host: str = ""
    """Where its stores are, if there are several hosts: the next start places it there again."""


class Pending(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that was begun with a stopped application, and has to be ended before it can start."""

    kind: str
    """The command."""
    topics: list[str] = []
    """Internal topics that are in its hands."""
    tasks: int | None = None
    """How many there will be."""
    ends: dict[str, list[int]] = {}
    """Where the topics beside those end, from which they are filled."""
    settings: dict[str, dict[str, str]] = {}
    """How those are made."""


class CommitRecord(msgspec.Struct, frozen=True):
    """What one transaction of the log says about itself. The newest one is the truth about an application."""

    incarnation: str
    """Changes when the changelogs are made anew: local stores of another incarnation are worthless."""
    number: int
    wall_clock: int
    positions: dict[str, list[int]]
    """Topic -> next offset to read, by partition."""
    tasks: dict[str, TaskCommit] = {}
    """Task id -> its accepted attempt."""
    ends: dict[str, list[int]] = {}
    """Changelog topic -> its end after this commit, by partition; and where the application has last written to the
    topics that it reads itself.
    """
    due: int | None = None
    """When the next wall-clock punctuator is due."""
    shutdown: str | None = None
    """Why every process of this application is to end, once this is in the log; the next start takes it back."""
    version: int = VERSION
    pending: Pending | None = None
    task_count: int | None = None
    """After a rescaling: how many tasks there are, whatever partitions the topics have; records go to them by key."""
    topic_ids: dict[str, str] = {}
    """Source topic -> what tells it from another one that is made later under its name: positions are worth nothing
    there. Commits of older versions have none.
    """


class Plan(msgspec.Struct, frozen=True):
    """What a batch is to do. Every task gets it in its control row."""

    number: int
    wall_clock: int
    starts: dict[str, list[int]]
    ends: dict[str, list[int]]
    """Topic -> where this batch starts and stops reading, by partition."""
    globals: dict[str, list[int]]
    """Topic of a global table -> how far it is to be read."""
    base: CommitRecord
    """The commit on which this batch is built."""
    pending: str | None = None
    """While that commit is still being published: the file that tells when it is there (`progress`), and that alone
    knows where its changelogs end. Until then a task may read its stores, but not change them.
    """

    parcels: str | None = None
    """The folder for large messages between its processes, if all of them see it."""

    def size(self) -> int:
        """How many offsets it reads."""
        return sum(sum(ends) - sum(self.starts[topic]) for topic, ends in self.ends.items())


class Restored(msgspec.Struct, frozen=True, omit_defaults=True):
    """What it took to bring one store of a task up to date from its changelog."""

    store: str
    topic: str
    start: int
    end: int
    """The first offset that was read, and where it stopped."""
    records: int = 0
    bytes: int = 0
    seconds: float = 0.0


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a task did in a batch."""

    task: str
    attempt: str | None = None
    """None: nothing changed, the accepted attempt stays."""
    due: int | None = None
    records: int = 0
    outputs: int = 0
    recovery: str = "same"
    restored: int = 0
    seconds: dict[str, float] = {}
    """Where the time went."""
    began: float = 0.0
    """When it began, in seconds since the epoch."""
    host: str = ""
    counts: dict[str, int] = {}
    """What users' processors have counted."""
    dropped: int = 0
    """Records that operators have ignored: late ones, those without a key, and the like."""
    restores: list[Restored] = []
    """The stores that were filled from their changelogs before the batch."""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a batch failed, told without a stack trace of Spark's."""

    kind: str
    """The name of the Headrace error, or empty for anything else."""
    message: str
    traceback: str = ""
    node: str | None = None
    origin: tuple[str, int] | None = None
    metadata: tuple[str, int, int] | None = None
    place: str = ""
    """The executor and its host, where there are several."""


_encoder = msgspec.json.Encoder(order="deterministic")
_decoders: dict[type, Any] = {}


def encode(value: msgspec.Struct) -> bytes:
    """Canonical JSON: equal values give equal bytes."""
    return _encoder.encode(value)


def encodable(text: str) -> str:
    """The same, as far as JSON can have it: bytes that were no text (`surrogateescape`) are spelt out.

    >>> encodable("caf\\udce9")
    'caf\\\\udce9'
    """
    return text.encode(errors="backslashreplace").decode()


def decode(data: bytes, kind: type[T]) -> T:
    """The inverse of `encode`."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    return decoder.decode(data)  # type: ignore[no-any-return]


def task_count(record: bytes | None) -> int | None:
    """How many tasks a commit record asks for; None: as many as the topics have partitions."""
    return None if record is None else decode(record, CommitRecord).task_count
