"""`headrace produce`: write records from standard input to a topic.

Each line is `key:value`, or with --json an object with the fields "value", "key", "timestamp" (milliseconds) and
"headers" (an object), of which all may be left out.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from headrace.cli.common import WRITERS, Commands, add_log_options, add_type_options, log_of
from headrace.errors import ConfigError
from headrace.log import Outgoing, TopicLog
from headrace.record import NO_HEADERS, Headers


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """A record as a line of JSON."""

    key: Any = None
    value: Any = None
    timestamp: int | None = None
    headers: dict[str, str | None] = {}


class Row(msgspec.Struct):
    """A record to be written."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = NO_HEADERS


def register(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "produce",
        help="write records from standard input to a topic",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("topic")
    add_log_options(parser)
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="each line is a JSON object")
    shape.add_argument("--no-key", action="store_true", help="each line is a value without a key")
    parser.add_argument("--separator", default=":", help="what stands between key and value (default `:`)")
    add_type_options(parser)
    parser.add_argument(
        "--partitions",
        type=int,
        default=4,
        help="of a topic that is made on first use: embedded log only (default 4)",
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing at the end")
    parser.set_defaults(action=produce)


def produce(args: argparse.Namespace) -> int:
    """Write what comes, as it comes, until the input ends."""
    log = log_of(args, create=True)
    if args.bootstrap_servers is None and args.topic not in log.topics():
        log.create_topic(args.topic, args.partitions)
        print(f"headrace: created `{args.topic}` with {args.partitions} partitions", file=sys.stderr)
    parse = _parser(args)
    written = number = 0
    try:
        for lines in _blocks(sys.stdin.fileno()):
            rows: list[Row] = []
            try:
                for line in lines:
                    number += 1
                    if line.strip():
                        rows.append(_parse(parse, line, number))
            finally:  # what came before a bad line is written
                _append(log, args.topic, rows)
                written += len(rows)
    finally:
        if not args.quiet:
            print(
                f"headrace: {written} {'record' if written == 1 else 'records'} written to `{args.topic}`",
                file=sys.stderr,
            )
    return 0


def _blocks(descriptor: int) -> Iterator[list[str]]:
    """Lines in blocks of what is there: a slow writer's line goes out at once, a file in large blocks."""
    rest = b""
    while data := os.read(descriptor, 4 * 1024 * 1024):
        *lines, rest = (rest + data).split(b"\n")
        yield [line.decode(errors="replace") for line in lines]
    if rest:
        yield [rest.decode(errors="replace")]


def _append(log: TopicLog, topic: str, rows: list[Row]) -> None:
    if rows:
        headers = [row.headers for row in rows] if any(row.headers for row in rows) else None
        keys, values = [row.key for row in rows], [row.value for row in rows]
        log.append([Outgoing(topic, keys, values, [row.timestamp for row in rows], headers)])


def _parse(parse: Callable[[str], Row], line: str, number: int) -> Row:
    try:
        return parse(line)
    except (ValueError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"line {number} of the input cannot be used: {error}\n  {line[:200]}") from error


def _parser(args: argparse.Namespace) -> Callable[[str], Row]:
    write_key, write_value = WRITERS[args.key_type], WRITERS[args.value_type]
    decode = msgspec.json.Decoder(Line).decode

    def text(line: str) -> Row:
        if args.no_key:
            return Row(None, write_value(line), _now())
        if line.startswith("{"):
            raise ValueError(
                "it begins with `{`: use --json for records as JSON, or --no-key for bare values"
            )
        key, separator, value = line.partition(args.separator)
        if not separator:
            return Row(None, write_value(line), _now())
        return Row(write_key(key), write_value(value), _now())

    def as_json(line: str) -> Row:
        found = decode(line)
        headers = tuple(
            (name, None if value is None else value.encode()) for name, value in found.headers.items()
        )
        return Row(
            _bytes(write_key, found.key),
            _bytes(write_value, found.value),
            _now() if found.timestamp is None else found.timestamp,
            headers,
        )

    return as_json if args.json else text


def _bytes(write: Callable[[str], bytes], value: Any) -> bytes | None:
    """A string as it is, anything else as JSON."""
    if value is None:
        return None
    return write(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def _now() -> int:
    return time.time_ns() // 1_000_000
