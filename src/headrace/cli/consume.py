"""`headrace consume`: print the records of a topic.

Without --follow it prints what is there and ends. With --follow it waits for new records, and begins with them
unless --from-beginning is given. Each line is the key, a tab and the value; with --json an object with everything.
"""

from __future__ import annotations

import argparse
import heapq
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from headrace.cli.common import READERS, Commands, add_log_options, add_type_options, log_of
from headrace.errors import ConfigError
from headrace.log import TopicLog, TopicPartition
from headrace.record import NO_HEADERS, Headers

_POLL_SECONDS = 0.05


class Row(NamedTuple):
    """A record and its place; ordered by time, then by place."""

    timestamp: int
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers


def register(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "consume",
        help="print the records of a topic",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("topic")
    add_log_options(parser)
    parser.add_argument("--from-beginning", action="store_true", help="begin with the first record")
    parser.add_argument("--follow", action="store_true", help="wait for new records")
    parser.add_argument("--max", type=int, metavar="N", help="end after N records")
    parser.add_argument("--partition", type=int, help="only this partition")
    parser.add_argument(
        "--json", action="store_true", help="a JSON object per record, with offset, time and headers"
    )
    add_type_options(parser)
    parser.set_defaults(action=consume)


def consume(args: argparse.Namespace) -> int:
    """Print records until the end, the wanted number, or Ctrl-C."""
    if args.max is not None and args.max < 1:
        raise ConfigError(f"`--max` is at least 1, got {args.max}")
    log = log_of(args)
    partitions = range(log.describe(args.topic).partitions) if args.partition is None else [args.partition]
    places = [TopicPartition(args.topic, partition) for partition in partitions]
    from_end = args.follow and not args.from_beginning
    positions = dict(log.latest(places) if from_end else log.earliest(places))
    left = args.max
    while True:
        ends = log.latest(places)
        for row in _rows(log, {place: (positions[place], ends[place]) for place in places}):
            print(_shown(row, args))
            if left is not None:
                left -= 1
                if left == 0:
                    return 0
        sys.stdout.flush()
        if not args.follow:
            return 0
        if dict(ends) == positions:
            time.sleep(_POLL_SECONDS)
        positions = dict(ends)


def _rows(log: TopicLog, ranges: Mapping[TopicPartition, tuple[int, int]]) -> Iterator[Row]:
    """The records of all partitions, by time as far as each partition is."""
    return heapq.merge(*(_partition(log, place, span) for place, span in ranges.items() if span[0] < span[1]))


def _partition(log: TopicLog, place: TopicPartition, span: tuple[int, int]) -> Iterator[Row]:
    for chunk in log.read({place: span}):
        headers = chunk.headers or [NO_HEADERS] * len(chunk)
        columns = zip(chunk.timestamps, chunk.offsets, chunk.keys, chunk.values, headers, strict=True)
        for timestamp, offset, key, value, row_headers in columns:
            yield Row(timestamp, place.partition, offset, key, value, row_headers)


def _shown(row: Row, args: argparse.Namespace) -> str:
    key = _read(row, "key", row.key, args.key_type)
    value = _read(row, "value", row.value, args.value_type)
    if not args.json:
        return f"{_text(key)}\t{_text(value)}"
    headers = {name: None if value is None else READERS["string"](value) for name, value in row.headers}
    shown = {
        "partition": row.partition,
        "offset": row.offset,
        "timestamp": row.timestamp,
        "key": key,
        "value": value,
    }
    return msgspec.json.encode(shown | ({"headers": headers} if headers else {})).decode()


def _read(row: Row, part: str, data: bytes | None, kind: str) -> Any:
    if data is None:
        return None
    try:
        return READERS[kind](data)
    except (ValueError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"the {part} of partition {row.partition}, offset {row.offset} is not `{kind}` ({error}): "
            f"choose another `--{part}-type`"
        ) from error


def _text(value: Any) -> str:
    if value is None:
        return "null"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
