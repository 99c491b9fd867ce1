"""Every error that leaves the library.

    HeadraceError
    ├── TopologyError               the topology cannot be built
    │   ├── DuplicateNameError      a node, store or topic name is used twice
    │   ├── UnknownNodeError        a parent or store that does not exist
    │   │   └── UnknownStoreError   a store that nobody has added; a StoreError, too
    │   ├── CycleError              a node would come before itself
    │   ├── TopicConflictError      a topic is read by two sources that cannot be one
    │   ├── GlobalTopicError        a global table's topic is also written
    │   ├── MissingSerdeError       nothing says how a key or value is written
    │   └── InvalidArgumentError    a count, function or option that makes no sense
    │       ├── InvalidDurationError  a duration that is a number, negative or zero
    │       ├── OtherBuilderError   streams and tables of two builders are put together
    │       └── CopartitionError    joined topics have different numbers of partitions; a StartError, too
    ├── ConfigError                 the application's settings are wrong
    ├── StartError                  the application cannot start
    │   ├── MissingTopicError       a source topic does not exist
    │   ├── AlreadyRunningError     the application id is in use by a live process
    │   ├── UpgradeError            the topology is not the one that made the state, and cannot use it
    │   ├── JavaNotFoundError       Spark needs a Java, and there is none
    │   └── BrokerNotReachableError no broker answers at `bootstrap_servers`
    ├── IllegalStateError           the application cannot do that in the state it is in
    ├── ProcessingError             a record could not be processed
    │   ├── DeserializationError    its bytes could not be read (a poison record)
    │   ├── SerializationError      a value could not be written
    │   ├── CallbackError           the user's function raised
    │   └── BufferFullError         `suppress` may hold back no more than it does
    ├── StoreError                  a state store was used wrongly, or is not there
    │   ├── StoreNotConnectedError  a processor asks for a store of others
    │   ├── DiskFullError           a disk under local stores or temporary files has no room for a commit
    │   └── ClosedStoreError        a store was used after the end of its task, driver or application
    ├── RescaleError                the application cannot be given another number of tasks
    ├── SparkFailedError            Spark lost a part of the running query
    └── LogError                    the topic log refused or lost something
        ├── OffsetOutOfRangeError   the wanted offset is no longer (or not yet) there
        └── FencedError             another process has taken the application over

A message says what happened, what was got, and how to mend it, in lower case with names in backticks;
`node`, `origin` and `metadata` say where.
"""

from __future__ import annotations

from headrace.origin import Origin
from headrace.record import RecordMetadata


class HeadraceError(Exception):
    """The base of every error of this library."""

    def __init__(
        self,
        message: str,
        *,
        node: str | None = None,
        origin: Origin | None = None,
        metadata: RecordMetadata | None = None,
    ) -> None:
        self.message = message
        self.node = node
        self.origin = origin
        self.metadata = metadata
        where = []
        if node is not None:
            where.append(f"node `{node}`")
        if metadata is not None:
            where.append(
                f"topic `{metadata.topic}`, partition {metadata.partition}, offset {metadata.offset}"
            )
        if origin is not None:
            where.append(f"at {origin}")
        super().__init__(message + (f"\n  ({'; '.join(where)})" if where else ""))

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross from Spark's workers to the driver as pickles.
        return (_rebuild, (type(self), self.message, self.node, self.origin, self.metadata))


def _rebuild(
    kind: type[HeadraceError],
    message: str,
    node: str | None,
    origin: Origin | None,
    metadata: RecordMetadata | None,
) -> HeadraceError:
    return kind(message, node=node, origin=origin, metadata=metadata)


class TopologyError(HeadraceError):
    """The topology cannot be built."""


class DuplicateNameError(TopologyError):
    """A node, store or topic name is used twice."""


class UnknownNodeError(TopologyError):
    """A parent or store that does not exist."""


class CycleError(TopologyError):
    """A node would come before itself."""


class TopicConflictError(TopologyError):
    """A topic is read by two sources that cannot be made one."""


class GlobalTopicError(TopologyError):
    """The topology writes a topic that it also reads as a global table."""


class MissingSerdeError(TopologyError):
    """Nothing says how a key or value is written."""


class InvalidArgumentError(TopologyError):
    """A count, function or option that makes no sense."""


class InvalidDurationError(InvalidArgumentError):
    """A duration that is a number, negative or zero."""


class OtherBuilderError(InvalidArgumentError):
    """Streams and tables of two builders are put together."""


class ConfigError(HeadraceError):
    """The application's settings are wrong."""


class StartError(HeadraceError):
    """The application cannot start."""


class CopartitionError(InvalidArgumentError, StartError):
    """Joined topics have different numbers of partitions."""


class MissingTopicError(StartError):
    """A source topic does not exist."""


class AlreadyRunningError(StartError):
    """The application id is in use by a live process."""


class UpgradeError(StartError):
    """The topology is not the one that made the state, and cannot use it."""


class JavaNotFoundError(StartError):
    """Spark needs a Java, and there is none."""


class BrokerNotReachableError(StartError):
    """No broker answers at `bootstrap_servers`."""


class IllegalStateError(HeadraceError):
    """The application cannot do that in the state it is in."""


class ProcessingError(HeadraceError):
    """A record could not be processed."""


class DeserializationError(ProcessingError):
    """A record's bytes could not be read."""


class SerializationError(ProcessingError):
    """A key or value could not be written."""


class CallbackError(ProcessingError):
    """The user's function raised."""


class BufferFullError(ProcessingError):
    """The buffer of a `suppress` that may not send updates on early is full."""


class StoreError(HeadraceError):
    """A state store was used wrongly, or is not there."""


class UnknownStoreError(UnknownNodeError, StoreError):
    """A store that nobody has added."""


class StoreNotConnectedError(StoreError):
    """A processor asks for a store of others."""


class DiskFullError(StoreError):
    """A disk under local stores or temporary files has no room for a commit; what was committed before is intact."""


class ClosedStoreError(StoreError):
    """A store was used after the end of its task, driver or application."""


class RescaleError(HeadraceError):
    """The application cannot be given another number of tasks."""


class SparkFailedError(HeadraceError):
    """Spark lost a part of the running query."""


class LogError(HeadraceError):
    """The topic log refused or lost something."""


class OffsetOutOfRangeError(LogError):
    """The wanted offset is no longer, or not yet, in the log."""


class FencedError(LogError):
    """Another process has taken the application over."""
