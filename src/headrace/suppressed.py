"""`Suppressed`: how long a table's updates are held back, and in how large a buffer. Pure settings, no state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Self

from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.windows import milliseconds


@dataclass(frozen=True, slots=True)
class BufferConfig:
    """How much a buffer of held-back updates may hold, and what happens when that is not enough.

    Begin with `max_records`, `max_bytes` or `unbounded`; every other method returns a changed copy.

    >>> BufferConfig.max_records(1000).with_max_bytes(1_000_000).shut_down_when_full().emits_early
    False
    """

    record_limit: int | None = None
    byte_limit: int | None = None
    logging: bool = True
    log_config: tuple[tuple[str, str], ...] = ()

    @property
    def emits_early(self) -> bool:
        """Whether a full buffer sends its oldest updates on before their time; otherwise it is an error."""
        return isinstance(self, EagerBufferConfig)

    @staticmethod
    def max_records(limit: int) -> EagerBufferConfig:
        """At most so many keys; when there are more, the oldest are sent on early.

        >>> BufferConfig.max_records(100).emits_early
        True
        """
        return EagerBufferConfig(_limit(limit, "max_records"))

    @staticmethod
    def max_bytes(limit: int) -> EagerBufferConfig:
        """At most so many bytes, counted as Kafka Streams counts them; when there are more, the oldest are sent on.

        >>> BufferConfig.max_bytes(1_000_000).byte_limit
        1000000
        """
        return EagerBufferConfig(byte_limit=_limit(limit, "max_bytes"))

    @staticmethod
    def unbounded() -> StrictBufferConfig:
        """As many as there are.

        >>> BufferConfig.unbounded().record_limit
        """
        return StrictBufferConfig()

    def with_max_records(self, limit: int) -> Self:
        """The same with another limit of records."""
        return replace(self, record_limit=_limit(limit, "with_max_records"))

    def with_max_bytes(self, limit: int) -> Self:
        """The same with another limit of bytes."""
        return replace(self, byte_limit=_limit(limit, "with_max_bytes"))

    def with_no_bound(self) -> StrictBufferConfig:
        """The same without limits."""
        return StrictBufferConfig(None, None, self.logging, self.log_config)

    def shut_down_when_full(self) -> StrictBufferConfig:
        """A full buffer fails with `BufferFullError`: nothing is ever sent on before its time.

        >>> Suppressed.until_window_closes(BufferConfig.max_records(100).shut_down_when_full()).until_close
        True
        """
        return StrictBufferConfig(self.record_limit, self.byte_limit, self.logging, self.log_config)

    def emit_early_when_full(self) -> EagerBufferConfig:
        """A full buffer sends its oldest updates on before their time."""
        return EagerBufferConfig(self.record_limit, self.byte_limit, self.logging, self.log_config)

    def with_logging_disabled(self) -> Self:
        """The same without a changelog: what is held back is lost together with the host's disk."""
        return replace(self, logging=False, log_config=())

    def with_logging_enabled(self, config: Mapping[str, str] | None = None) -> Self:
        """The same with a changelog (as by default), and settings for its topic.

        >>> BufferConfig.unbounded().with_logging_enabled({"segment.ms": "60000"}).log_config
        (('segment.ms', '60000'),)
        """
        return replace(self, logging=True, log_config=tuple(sorted((config or {}).items())))


@dataclass(frozen=True, slots=True)
class StrictBufferConfig(BufferConfig):
    """Nothing is sent on before its time: without limits, or with limits that must not be reached."""


@dataclass(frozen=True, slots=True)
class EagerBufferConfig(BufferConfig):
    """What does not fit any more is sent on early."""


_UNBOUNDED = StrictBufferConfig()


@dataclass(frozen=True, slots=True)
class Suppressed:
    """What `KTable.suppress` waits for; made by `until_window_closes` or `until_time_limit`."""

    wait_ms: int
    """Plain: how long after a key's first update. Windows: nothing; their own grace decides."""
    until_close: bool
    buffer: BufferConfig
    idle_ms: int | None = None
    """How long nothing comes before the wall clock ends the waiting; None: only records do."""

    @staticmethod
    def until_window_closes(
        buffer: StrictBufferConfig = _UNBOUNDED, *, idle: timedelta | None = None
    ) -> Suppressed:
        """One update per window: the last one, once no record can change it any more.

        With `idle`, windows close also when no record comes: once nothing has got here for so long, time goes on
        with the wall clock.

        >>> Suppressed.until_window_closes(BufferConfig.unbounded()).until_close
        True
        """
        _check_buffer(buffer, "until_window_closes")
        if buffer.emits_early:
            raise InvalidArgumentError(
                "`until_window_closes` promises final results only, so its buffer cannot send updates on early, "
                f"got {buffer!r}: use `BufferConfig.unbounded()`, or `.shut_down_when_full()`",
                origin=caller(),
            )
        return Suppressed(0, True, buffer, _idle(idle))

    @staticmethod
    def until_time_limit(
        wait: timedelta, buffer: BufferConfig = _UNBOUNDED, *, idle: timedelta | None = None
    ) -> Suppressed:
        """At most one update per key and `wait`, in stream time, counted from the first one that is held back; with
        `idle` as in `until_window_closes`.

        >>> Suppressed.until_time_limit(timedelta(minutes=5), BufferConfig.max_records(100)).wait_ms
        300000
        """
        _check_buffer(buffer, "until_time_limit")
        return Suppressed(milliseconds(wait, "wait", positive=False), False, buffer, _idle(idle))


def _idle(idle: timedelta | None) -> int | None:
    return None if idle is None else milliseconds(idle, "idle")


def _check_buffer(buffer: object, what: str) -> None:
    if not isinstance(buffer, BufferConfig) or type(buffer) is BufferConfig:
        raise InvalidArgumentError(
            f"`{what}` takes a buffer, got {buffer!r}: make one with `BufferConfig.unbounded()`, `.max_records(n)` or "
            "`.max_bytes(n)`",
            origin=caller(),
        )


def _limit(limit: int, what: str) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise InvalidArgumentError(f"`{what}` takes a number, zero or more, got {limit!r}", origin=caller())
    return limit
