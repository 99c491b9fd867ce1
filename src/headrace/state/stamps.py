"""How a local store knows what it holds: stamps, the log's word on them, and what is kept beside the data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import msgspec

from headrace.topology.stores import StoreSpec

TASK_STORE = "__task__"
"""The hidden store of a task: what its operators remember beside their stores."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which commit a store holds. A number alone is no identity: the same batch may be tried twice."""

    incarnation: str
    commit: int
    attempt: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the log says is true for a task: its last commit, and where its changelogs end by then.

    No stamp: the task has never committed anything.
    """

    stamp: Stamp | None = None
    ends: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Filling:
    """One store on its way from one offset of its changelog to another."""

    store: str
    start: int
    end: int
    """The first offset that is read, and where it stops."""
    at: int
    """How far it came."""
    records: int = 0
    bytes: int = 0
    seconds: float = 0.0
    began: float = 0.0
    """By `time.perf_counter`."""

    def reach(self, offset: int) -> None:
        """It has come so far by now."""
        self.at = offset
        self.seconds = time.perf_counter() - self.began

    @property
    def is_done(self) -> bool:
        """Whether it has come to its end."""
        return self.at >= self.end


Watch: TypeAlias = Callable[[Filling], None]
"""Hears of a store that is filled: at the beginning, after each chunk of records, and at the end."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """How local stores were brought to what the log says, and what that took."""

    kind: Literal["same", "undone", "caught_up", "taken_over", "rebuilt", "empty"]
    records: int = 0
    bytes: int = 0
    seconds: float = 0.0
    stores: tuple[Filling, ...] = ()
    """Those that were filled, one by one."""


class ChangelogChunk(Protocol):
    """Changelog records in offset order, as columns: a `headrace.log.base.Chunk` is one."""

    @property
    def offsets(self) -> Sequence[int]: ...
    @property
    def timestamps(self) -> Sequence[int]: ...
    @property
    def keys(self) -> Sequence[bytes | None]: ...
    @property
    def values(self) -> Sequence[bytes | None]: ...


ReadChangelog: TypeAlias = Callable[[str, int, int], Iterable[ChangelogChunk]]
"""(store, start, end) -> the changelog's committed records from start (0: the earliest) to end."""


class Base(msgspec.Struct, frozen=True):
    """An `Accepted`, as it is stored."""

    stamp: Stamp | None
    ends: dict[str, int]


class Held(msgspec.Struct, frozen=True):
    """What a local store holds.

    With `base`, the last local commit may not be the accepted one: its undo record leads back to the base.
    With `ends`, this is an accepted state whose changelog ends are known: one can catch up from there.
    `filling` marks a catch-up under way: the ends say how far it came, the stamp is not reached yet.
    """

    stamp: Stamp | None = None
    base: Base | None = None
    ends: dict[str, int] | None = None
    filling: bool = False
    layouts: dict[str, str] = {}
    written_ms: int = 0


_decoder = msgspec.msgpack.Decoder(Held)


def encode_held(held: Held) -> bytes:
    """As it is stored."""
    return msgspec.msgpack.encode(held)


def decode_held(raw: bytes | None) -> Held:
    """Nothing stored: nothing held. Raises msgspec.DecodeError on what is not ours."""
    return Held() if raw is None else _decoder.decode(raw)


def layout(spec: StoreSpec) -> str:
    """What must not change for stored entries to stay readable; else the store is filled anew."""
    whole = f"{spec.kind}/{spec.retention_ms}/{spec.retain_duplicates}"
    # Offsets of one topic say nothing about another.
    topic = "" if spec.changelog_topic is None else f"/{spec.changelog_topic}"
    if spec.kind == "versioned":
        return f"{whole}/{spec.segment_interval_ms}{topic}"
    return whole + ("/ttl" if spec.ttl_ms else "") + ("/lru" if spec.max_entries else "") + topic
