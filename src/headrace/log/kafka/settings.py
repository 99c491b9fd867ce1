"""The settings of the Kafka clients: quiet, fast in bulk, and quick to answer."""

from __future__ import annotations

import logging
from typing import Any

from confluent_kafka import KafkaException

from headrace.errors import ConfigError
from headrace.log.base import LogConfig

TIMEOUT = 10.0
"""Seconds that a single question to the broker may take."""


_silent = logging.getLogger("headrace.librdkafka")
_silent.propagate = False
_silent.addHandler(logging.NullHandler())


def bootstrap(config: LogConfig) -> str:
    """The brokers to ask first."""
    if config.bootstrap_servers is None:
        raise ConfigError("a log on Kafka needs `bootstrap_servers`")
    return config.bootstrap_servers


def client(config: LogConfig, **more: Any) -> dict[str, Any]:
    """What every client has; the user's own settings come last."""
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap(config),
        # Errors reach the user as exceptions; librdkafka's own lines on stderr would only double them.
        "log_level": 0,
        "logger": _silent,
        "error_cb": _ignore,
        "socket.timeout.ms": 10_000,
        "socket.nagle.disable": True,
        "reconnect.backoff.max.ms": 1_000,
        "client.id": "headrace",
    }
    settings.update({name.replace("_", "."): value for name, value in more.items()})
    settings.update(config.kafka)
    return settings


def consumer(config: LogConfig, *, isolation: str = "read_committed") -> dict[str, Any]:
    """A consumer that is told where to read, and never joins a group."""
    return client(
        config,
        group_id="headrace-reader",
        isolation_level=isolation,
        enable_auto_commit=False,
        enable_auto_offset_store=False,
        enable_partition_eof=True,
        auto_offset_reset="error",
        max_poll_interval_ms=86_400_000,
        allow_auto_create_topics=False,
    )


def reading(config: LogConfig, *, isolation: str = "read_committed") -> dict[str, Any]:
    """The same, for reading ranges."""
    settings: dict[str, Any] = {
        "fetch.message.max.bytes": 8 * 1024 * 1024,
        "queued.min.messages": 1_000_000,
        # What a reader has fetched and another one then reads is wasted: not more than this.
        "queued.max.messages.kbytes": 16 * 1024,
        # The default of a second is felt by every reader that has caught up with its own queue.
        "fetch.queue.backoff.ms": 5,
        # A new position waits for the fetch under way, so none may wait long; new records end it at once anyway.
        "fetch.wait.max.ms": 50,
    }
    return settings | consumer(config, isolation=isolation)


def producer(config: LogConfig, **more: Any) -> dict[str, Any]:
    """A producer for bulk: large requests, but no wait worth speaking of."""
    return client(
        config,
        enable_idempotence=True,
        linger_ms=5,
        batch_size=1_000_000,
        batch_num_messages=100_000,
        # The broker knows what is too large; a limit of the client's own would only be another one.
        message_max_bytes=1_000_000_000,
        queue_buffering_max_messages=1_000_000,
        queue_buffering_max_kbytes=256 * 1024,
        **more,
    )


def transactional(config: LogConfig, transactional_id: str) -> dict[str, Any]:
    """A producer of transactions."""
    return producer(
        config,
        transactional_id=transactional_id,
        transaction_timeout_ms=60_000,
        # The broker refuses a transaction until the markers of the one before are written: ask again soon.
        retry_backoff_ms=10,
        # By default a producer that loses all brokers for a moment forgets them and asks the bootstrap servers anew;
        # librdkafka 2.16 then waits for a group coordinator that it no longer knows, until the step times out.
        metadata_recovery_strategy="none",
    )


def make(kind: Any, settings: dict[str, Any]) -> Any:
    """A client of a kind; ConfigError when librdkafka does not like the settings."""
    try:
        return kind(settings)
    except KafkaException as error:
        raise ConfigError(f"Kafka's client refuses its settings: {error.args[0].str()}") from error


def _ignore(error: object) -> None:
    pass
