"""`headrace produce`: write records from standard input to a topic.

Each line is `key:value`, or with --json an object with the fields "value", "key", "timestamp" (milliseconds),
"headers" (an object) and "partition", of which all may be left out; what `headrace consume --json` prints can be
read back. Lines are written as they come. A line that cannot be used ends the command with its number: the lines
before it are written, it and those after it are not.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from headrace.cli.common import WRITERS, Commands, add_log_options, add_type_options, log_of
from headrace.clients.buffer import Buffer
from headrace.errors import ConfigError
from headrace.log import TopicDescription, TopicLog
from headrace.record import NO_HEADERS, Headers


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """A record as a line of JSON."""

    key: Any = None
    value: Any = None
    timestamp: int | None = None
    headers: dict[str, str | None] = {}
    partition: int | None = None
    offset: int | None = None
    """Where it was read from; it gets a new one."""


class Row(NamedTuple):
    """A record to be written."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = NO_HEADERS
    partition: int | None = None


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
    log = log_of(args, create=True, upkeep=True)
    try:
        if args.bootstrap_servers is None and args.topic not in log.topics():
            log.create_topic(args.topic, args.partitions)
            print(f"headrace: created `{args.topic}` with {args.partitions} partitions", file=sys.stderr)
        _copy(log, args)
    finally:
        log.close()
    return 0


def _copy(log: TopicLog, args: argparse.Namespace) -> None:
    topic = log.describe(args.topic)
    parse = _parser(args)
    written = number = 0
    try:
        for lines in _blocks(sys.stdin.fileno()):
            rows = Buffer()
            try:
                for line in lines:
                    number += 1
                    if line.strip():
                        rows.add(topic.name, *_parse(parse, line, number, topic))
            finally:  # what came before a bad line is written
                if rows.records:
                    log.append(rows.outgoing(lambda _: topic.partitions))
                written += rows.records
    finally:
        if not args.quiet:
            print(
                f"headrace: {written} {'record' if written == 1 else 'records'} written to `{args.topic}`",
                file=sys.stderr,
            )


def _blocks(descriptor: int) -> Iterator[list[bytes]]:
    """Lines in blocks of what is there: a slow writer's line goes out at once, a file in large blocks."""
    rest = b""
    while data := os.read(descriptor, 4 * 1024 * 1024):
        *lines, rest = (rest + data).split(b"\n")
        yield lines
    if rest:
        yield [rest]


def _parse(parse: Callable[[str], Row], line: bytes, number: int, topic: TopicDescription) -> Row:
    try:
        row = parse(line.removesuffix(b"\r").decode())  # lines may end as they do on Windows
        if row.key is None and "compact" in topic.config.get("cleanup.policy", ""):
            raise ValueError(f"topic `{topic.name}` is compacted, so every record needs a key")
        if row.partition is not None and not 0 <= row.partition < topic.partitions:
            raise ValueError(
                f"topic `{topic.name}` has partitions 0 to {topic.partitions - 1}, got {row.partition}"
            )
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"line {number} of the input is not UTF-8 ({error.reason}): write bytes as `--value-type hex`"
        ) from error
    except (ValueError, msgspec.DecodeError, msgspec.ValidationError) as error:
        shown = line[:200].decode(errors="replace")
        raise ConfigError(f"line {number} of the input cannot be used: {error}\n  {shown}") from error
    return row


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
            found.partition,
        )

    return as_json if args.json else text


def _bytes(write: Callable[[str], bytes], value: Any) -> bytes | None:
    """A string as it is, anything else as JSON."""
    if value is None:
        return None
    return write(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def _now() -> int:
    return time.time_ns() // 1_000_000
