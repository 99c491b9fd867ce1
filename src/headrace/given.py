"""What users give for a moment and for headers, and what it becomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.record import NO_HEADERS, Headers

Time: TypeAlias = int | datetime
"""Milliseconds since the epoch, or a datetime with a time zone."""

HeadersLike: TypeAlias = Mapping[str, str | bytes | None] | Iterable[tuple[str, str | bytes | None]]


def to_milliseconds(moment: Time, what: str) -> int:
    """Milliseconds since the epoch.

    >>> from datetime import timezone
    >>> to_milliseconds(datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc), "timestamp")
    1000
    """
    if isinstance(moment, int) and not isinstance(moment, bool):
        return moment
    if not isinstance(moment, datetime):
        raise InvalidArgumentError(
            f"`{what}` is milliseconds since the epoch or a datetime, got {moment!r}", origin=caller()
        )
    if moment.tzinfo is None:
        raise InvalidArgumentError(
            f"`{what}` is a datetime without a time zone: write {moment!r} with tzinfo=timezone.utc",
            origin=caller(),
        )
    epoch = datetime.fromtimestamp(0, moment.tzinfo)
    return (moment - epoch) // timedelta(milliseconds=1)


def to_headers(headers: HeadersLike) -> Headers:
    """Headers as pairs of a name and bytes; text is written as UTF-8.

    >>> to_headers({"source": "web"})
    (('source', b'web'),)
    """
    if not headers:
        return NO_HEADERS
    pairs: Iterable[tuple[str, Any]] = headers.items() if isinstance(headers, Mapping) else headers
    return tuple((name, value.encode() if isinstance(value, str) else value) for name, value in pairs)
