"""What to do when an application fails as a whole: the answers of an uncaught-exception handler."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeAlias


class StreamThreadExceptionResponse(Enum):
    """A handler's answer, with Kafka Streams' names (KIP-671)."""

    REPLACE_THREAD = "replace thread"
    """Start the query again from the last commit."""
    SHUTDOWN_CLIENT = "shutdown client"
    """End this process's part of the application; its state becomes ERROR."""
    SHUTDOWN_APPLICATION = "shutdown application"
    """The same, and every other process of this application (standbys) is told to end."""


UncaughtExceptionHandler: TypeAlias = Callable[[BaseException], StreamThreadExceptionResponse]


def shutdown_client(error: BaseException) -> StreamThreadExceptionResponse:
    """The default, as in Kafka Streams.

    >>> shutdown_client(ValueError("a mistake")).name
    'SHUTDOWN_CLIENT'
    """
    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT
