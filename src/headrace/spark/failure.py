"""Errors that happen in a worker, carried to the driver as a row: no Spark stack trace around them."""

from __future__ import annotations

import traceback

from headrace import errors
from headrace.origin import NOWHERE, Origin, raised_at
from headrace.record import RecordMetadata
from headrace.spark.commit import Failure, decode, encodable, encode
from headrace.spark.hosts import place
from headrace.spark.rows import DRIVER, Row

REPORTED = (Exception, SystemExit)
"""What a worker reports. Where a function of the user's ends the process, only this one would end, and be replaced."""


def failure_row(error: BaseException, slot: int = 0) -> Row:
    """A row that makes the driver fail the batch."""
    return Row(slot, DRIVER, "error", 0, 0, "", 0, pack_failure(error))


def pack_failure(error: BaseException) -> bytes:
    """An error as bytes, for another process."""
    text = encodable("".join(traceback.format_exception(error)))
    where = str(place()) if place().executor else ""
    if isinstance(error, errors.HeadraceError):
        failure = Failure(
            _known_name(type(error)),
            encodable(error.message),
            text,
            error.node,
            None if error.origin is None else (error.origin.file, error.origin.line),
            None if error.metadata is None else (*error.metadata,),
            where,
        )
    else:
        at = raised_at(error)
        failure = Failure(
            "",
            encodable(f"{type(error).__name__}: {error}"),
            text,
            origin=None if at == NOWHERE else (at.file, at.line),
            place=where,
        )
    return encode(failure)


def _known_name(kind: type[errors.HeadraceError]) -> str:
    """The error itself, or the next one above it that every process knows: users and stores have some of their own."""
    names = [known.__name__ for known in kind.__mro__]
    return next(name for name in names if getattr(errors, name, None) in kind.__mro__)


def unpack_failure(payload: bytes) -> errors.HeadraceError:
    """The error that another process reported, to be raised in the driver."""
    failure = decode(payload, Failure)
    kind: type[errors.HeadraceError] = getattr(errors, failure.kind or "ProcessingError")
    error = kind(
        failure.message,
        node=failure.node,
        origin=None if failure.origin is None else Origin(*failure.origin),
        metadata=None if failure.metadata is None else RecordMetadata(*failure.metadata),
    )
    error.add_note(f"in a worker{failure.place and f' ({failure.place})'}:\n{failure.traceback}")
    return error
