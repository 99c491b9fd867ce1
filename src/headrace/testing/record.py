"""`TestRecord`: a record to pipe in, or to compare with, where the parts that do not matter are left out."""

from __future__ import annotations

from typing import Any, cast, overload

from headrace.given import HeadersLike, Time, to_headers, to_milliseconds
from headrace.record import Record

_NO_KEY = object()


@overload
def TestRecord(
    value: Any, /, *, timestamp: Time | None = None, headers: HeadersLike = ()
) -> Record[Any, Any]: ...
@overload
def TestRecord(
    key: Any, value: Any, /, *, timestamp: Time | None = None, headers: HeadersLike = ()
) -> Record[Any, Any]: ...
def TestRecord(  # noqa: N802
    key: Any, value: Any = _NO_KEY, /, *, timestamp: Time | None = None, headers: HeadersLike = ()
) -> Record[Any, Any]:
    """A `Record`; the key may be left out. Without a timestamp it is piped at the topic's own time.

    >>> TestRecord("k", "v", timestamp=5, headers={"source": "web"})
    Record(key='k', value='v', timestamp=5, headers=(('source', b'web'),))
    """
    if value is _NO_KEY:
        key, value = None, key
    # A record on its way always has a time: only the input topic sees one without.
    at = cast("int", None if timestamp is None else to_milliseconds(timestamp, "timestamp"))
    return Record(key, value, at, to_headers(headers))


TestRecord.__test__ = False  # type: ignore[attr-defined]  # pytest, this is not a test
