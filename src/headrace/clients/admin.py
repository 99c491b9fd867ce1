"""Making, describing, changing and deleting topics."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

from headrace.clients.connect import connect
from headrace.errors import ConfigError
from headrace.log import TopicDescription
from headrace.origin import caller

Setting: TypeAlias = str | int | float | timedelta


class Admin:
    """The topics of the embedded log in `data_dir`, or of Kafka with `bootstrap_servers`.

    Settings of topics have Kafka's names with `_` for `.`; those in milliseconds take a timedelta as well.

    >>> import tempfile
    >>> with Admin(data_dir=tempfile.mkdtemp()) as admin:
    ...     admin.create_topic("orders", partitions=2, retention_ms=timedelta(days=7), retention_bytes=10**9)
    ...     admin.topics()
    ...     admin.describe_topic("orders").config
    {'orders': 2}
    {'retention.ms': '604800000', 'retention.bytes': '1000000000'}
    """

    def __init__(
        self,
        *,
        data_dir: str | Path = ".headrace",
        bootstrap_servers: str | None = None,
        kafka: Mapping[str, str] | None = None,
    ) -> None:
        self._log = connect(data_dir, bootstrap_servers, kafka, create=True)

    def topics(self) -> Mapping[str, int]:
        """Every topic and its number of partitions."""
        return self._log.topics()

    def create_topic(self, name: str, *, partitions: int = 4, **settings: Setting) -> None:
        """Make a topic; LogError when there is one of that name.

        >>> import tempfile
        >>> admin = Admin(data_dir=tempfile.mkdtemp())
        >>> admin.create_topic("prices", cleanup_policy="compact", delete_retention_ms=60_000)
        >>> admin.create_topic("prices")
        Traceback (most recent call last):
        headrace.errors.LogError: topic `prices` exists already: choose another name, or delete it first
        """
        self._log.create_topic(
            name, partitions, {_dotted(key): _text(key, settings[key]) for key in settings}
        )

    def describe_topic(self, name: str) -> TopicDescription:
        """The partitions and settings of one topic."""
        return self._log.describe(name)

    def alter_topic(self, name: str, **settings: Setting | None) -> None:
        """Change settings of a topic; None takes one back to its default.

        >>> import tempfile
        >>> admin = Admin(data_dir=tempfile.mkdtemp())
        >>> admin.create_topic("clicks", retention_ms=1000, retention_bytes=5000)
        >>> admin.alter_topic("clicks", retention_ms=None, retention_bytes=7000)
        >>> admin.describe_topic("clicks").config
        {'retention.bytes': '7000'}
        """
        changes = {
            _dotted(key): None if value is None else _text(key, value) for key, value in settings.items()
        }
        self._log.alter_topic(name, changes)

    def delete_topic(self, name: str) -> None:
        """Remove a topic with all its records."""
        self._log.delete_topic(name)

    def close(self) -> None:
        """Give the log back."""
        self._log.close()

    def __enter__(self) -> Admin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _dotted(name: str) -> str:
    return name.replace("_", ".")


def _text(name: str, value: Setting) -> str:
    if isinstance(value, timedelta):
        if not name.endswith("_ms"):
            raise ConfigError(f"`{name}` is no duration, got {value!r}", origin=caller())
        return str(value // timedelta(milliseconds=1))
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
