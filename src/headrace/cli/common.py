"""What the commands on topics share: where the log is, and how bytes are shown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from headrace.clients.connect import connect
from headrace.errors import ConfigError
from headrace.log import TopicLog
from headrace.serdes import Serdes

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_log_options(parser: argparse.ArgumentParser) -> None:
    """`--data-dir` or `--bootstrap-servers`."""
    parser.add_argument(
        "--data-dir", default=".headrace", help="the embedded log's directory (default .headrace)"
    )
    parser.add_argument("--bootstrap-servers", help="Kafka's brokers, instead of the embedded log")
    parser.add_argument(
        "--kafka", action="append", default=[], metavar="NAME=VALUE", help="a setting for Kafka's clients"
    )


def add_confirmation(parser: argparse.ArgumentParser) -> None:
    """`--dry-run` and `--yes`."""
    parser.add_argument("--dry-run", action="store_true", help="only tell what would be done")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def is_confirmed(args: argparse.Namespace, question: str) -> bool:
    """Ask, unless `--yes` was given; without a terminal nobody can answer."""
    if args.yes:
        return True
    if not sys.stdin.isatty():
        raise ConfigError(f"{question} there is no terminal to ask on: say `--yes`, or look with `--dry-run`")
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:  # Ctrl-D
        print()
        return False


def pairs(items: Sequence[str], option: str) -> dict[str, str]:
    """`NAME=VALUE` arguments as a dict.

    >>> pairs(["retention.ms=-1"], "--config")
    {'retention.ms': '-1'}
    """
    found = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise ConfigError(f"`{option}` takes NAME=VALUE, got {item!r}")
        found[name] = value
    return found


def client_options(args: argparse.Namespace) -> dict[str, Any]:
    """How a client reaches the log that the options name."""
    return {
        "data_dir": args.data_dir,
        "bootstrap_servers": args.bootstrap_servers,
        "kafka": pairs(args.kafka, "--kafka"),
    }


def log_of(args: argparse.Namespace, *, create: bool = False, upkeep: bool = False) -> TopicLog:
    """The log that the options name. Only a command that writes makes a new directory, or keeps it in shape."""
    return connect(**client_options(args), create=create, upkeep=upkeep)


def _read_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "0x" + data.hex()


READERS: Mapping[str, Callable[[bytes], Any]] = {
    "string": _read_text,
    "json": msgspec.json.decode,
    "long": Serdes.long().deserialize,
    "int": Serdes.integer().deserialize,
    "double": Serdes.double().deserialize,
    "hex": bytes.hex,
}

WRITERS: Mapping[str, Callable[[str], bytes]] = {
    "string": str.encode,
    "json": lambda text: msgspec.json.encode(msgspec.json.decode(text)),
    "long": lambda text: Serdes.long().serialize(int(text)),
    "int": lambda text: Serdes.integer().serialize(int(text)),
    "double": lambda text: Serdes.double().serialize(float(text)),
    "hex": bytes.fromhex,
}


def add_type_options(parser: argparse.ArgumentParser) -> None:
    """How keys and values are written in the topic."""
    for part in ("key", "value"):
        parser.add_argument(
            f"--{part}-type",
            choices=sorted(READERS),
            default="string",
            help=f"how a {part} is written in the topic",
        )
