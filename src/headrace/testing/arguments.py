"""What a driver refuses to be made of, fed with, or read as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.config import StreamsConfig
from headrace.errors import DeserializationError, InvalidArgumentError, SerializationError
from headrace.origin import caller
from headrace.serdes import Serde, explain_read, explain_write
from headrace.topology.topology import Topology


def check_arguments(topology: object, config: object) -> None:
    """A driver takes what a builder has built, and settings."""
    if not isinstance(topology, Topology):
        fix = ": call `build()` on it" if hasattr(topology, "build") else ""
        raise InvalidArgumentError(
            f"a driver runs a `Topology`, got a `{type(topology).__name__}`{fix}", origin=caller()
        )
    if config is not None and not isinstance(config, StreamsConfig):
        raise InvalidArgumentError(
            f"settings are a `StreamsConfig`, got {config!r}: write `StreamsConfig(application_id=...)`",
            origin=caller(),
        )


def written(part: str, topic: str, serde: Serde[Any], write: Callable[[Any], bytes], value: Any) -> bytes:
    """A key or value for an input topic, as bytes."""
    try:
        return write(value)
    except Exception as error:
        raise SerializationError(
            f"the {part} cannot be piped into `{topic}`: {explain_write(serde, value, error)}",
            origin=caller(),
        ) from error


def read(part: str, topic: str, serde: Serde[Any], data: bytes) -> Any:
    """A key or value of an output topic."""
    try:
        return serde.deserialize(data)
    except Exception as error:
        raise DeserializationError(
            f"the {part} of a record in `{topic}` is not what this test reads: {explain_read(serde, data, error)}; "
            f"say the type that it has with `output(..., {part}=...)`",
            origin=caller(),
        ) from error
