"""`headrace consume`: print the records of a topic.

Without --follow it prints what is there and ends. With --follow it waits for new records, and begins with them
unless --from-beginning is given. With --group it goes on where the group has stopped, and several commands of one
group share the partitions. Each line is the key, a tab and the value; with --json an object with everything.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from typing import Any, TypeAlias

import msgspec

from headrace.cli.common import READERS, Commands, add_log_options, add_type_options, client_options
from headrace.clients import Consumer, ConsumerRecord
from headrace.errors import ConfigError

_BLOCK = 5_000
_NAP = timedelta(seconds=1)

Raw: TypeAlias = ConsumerRecord[bytes | None, bytes | None]


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
    parser.add_argument("--group", help="go on where this group of consumers has stopped")
    parser.add_argument(
        "--reset", action="store_true", help="with --group: begin anew, whatever the group has read"
    )
    parser.add_argument("--max", type=int, metavar="N", help="end after N records")
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="with --follow: end when none came for so long"
    )
    parser.add_argument("--partition", type=int, help="only this partition")
    parser.add_argument(
        "--json", action="store_true", help="a JSON object per record, with offset, time and headers"
    )
    add_type_options(parser)
    parser.set_defaults(action=consume)


def consume(args: argparse.Namespace) -> int:
    """Print records until the end, the wanted number, or Ctrl-C."""
    _check(args)
    with Consumer[Any, Any](
        key=bytes,
        value=bytes,
        group=args.group,
        from_beginning=args.from_beginning or not args.follow,
        auto_commit=False,  # only what has left this process is done with
        **client_options(args),
    ) as consumer:
        if args.partition is None:
            consumer.subscribe(args.topic)
        else:
            consumer.assign([(args.topic, args.partition)])
        for block in _blocks(consumer, args):
            for record in block:
                print(_shown(record, args))
            sys.stdout.flush()
            if args.group is not None:
                consumer.commit()
    return 0


def _check(args: argparse.Namespace) -> None:
    if args.max is not None and args.max < 1:
        raise ConfigError(f"`--max` is at least 1, got {args.max}")
    if args.reset and args.group is None:
        raise ConfigError("`--reset` is for a group: give `--group` as well")
    if args.timeout is not None and (not args.follow or args.timeout < 0):
        raise ConfigError("`--timeout` goes with `--follow`, and is not negative")


def _blocks(consumer: Consumer[Any, Any], args: argparse.Namespace) -> Iterator[list[Raw]]:
    left = args.max if args.max is not None else sys.maxsize
    if args.reset:
        _reset(consumer, from_beginning=args.from_beginning or not args.follow)
    waited = timedelta(0)
    present = None if args.follow else consumer.read_to_end()
    while left > 0:
        most = min(left, _BLOCK)
        block = consumer.poll(_NAP, max_records=most) if present is None else list(islice(present, most))
        waited = timedelta(0) if block else waited + _NAP
        if block:
            yield block
        elif not args.follow or (args.timeout is not None and waited.total_seconds() >= args.timeout):
            return
        left -= len(block)


def _reset(consumer: Consumer[Any, Any], *, from_beginning: bool) -> None:
    consumer.wait_for_assignment()
    if from_beginning:
        consumer.seek_to_beginning()
    else:
        consumer.seek_to_end()


def _shown(record: Raw, args: argparse.Namespace) -> str:
    key = _read(record, "key", record.key, args.key_type)
    value = _read(record, "value", record.value, args.value_type)
    if not args.json:
        return f"{_text(key)}\t{_text(value)}"
    headers = {name: None if value is None else READERS["string"](value) for name, value in record.headers}
    shown = {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": key,
        "value": value,
    }
    return msgspec.json.encode(shown | ({"headers": headers} if headers else {})).decode()


def _read(record: Raw, part: str, data: bytes | None, kind: str) -> Any:
    if data is None:
        return None
    try:
        return READERS[kind](data)
    except (ValueError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"the {part} of partition {record.partition}, offset {record.offset} is not `{kind}` ({error}): "
            f"choose another `--{part}-type`"
        ) from error


def _text(value: Any) -> str:
    if value is None:
        return "null"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
