"""`headrace topics`: list, create, describe, alter and delete topics.

Settings have Kafka's names: cleanup.policy (delete, compact or compact,delete), retention.ms, retention.bytes
(per partition), delete.retention.ms and others. The embedded log keeps records for ever unless a topic says otherwise.
"""

from __future__ import annotations

import argparse

from headrace.cli.common import Commands, add_log_options, log_of, pairs
from headrace.errors import ConfigError, LogError
from headrace.log import TopicPartition


def register(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "topics",
        help="list, create, describe, alter and delete topics",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(metavar="action", required=True)
    listing = actions.add_parser("list", help="all topics and their numbers of partitions")
    listing.set_defaults(action=list_topics)
    creating = actions.add_parser("create", help="make a topic")
    creating.add_argument("topic")
    creating.add_argument("--partitions", type=int, default=4, help="how many partitions (default 4)")
    creating.add_argument(
        "--config", action="append", default=[], metavar="NAME=VALUE", help="such as cleanup.policy=compact"
    )
    creating.set_defaults(action=create)
    describing = actions.add_parser("describe", help="the partitions, offsets and settings of a topic")
    describing.add_argument("topic")
    describing.set_defaults(action=describe)
    altering = actions.add_parser("alter", help="change the settings of a topic")
    altering.add_argument("topic")
    altering.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="such as retention.ms=3600000; NAME= alone takes the default again",
    )
    altering.set_defaults(action=alter)
    deleting = actions.add_parser("delete", help="remove a topic with all its records")
    deleting.add_argument("topic")
    deleting.set_defaults(action=delete)
    for action in (listing, creating, describing, altering, deleting):
        add_log_options(action)


def list_topics(args: argparse.Namespace) -> int:
    """One line per topic: name, tab, number of partitions."""
    for name, partitions in sorted(log_of(args).topics().items()):
        print(f"{name}\t{partitions}")
    return 0


def create(args: argparse.Namespace) -> int:
    """Make a topic."""
    log_of(args, create=True).create_topic(args.topic, args.partitions, pairs(args.config, "--config"))
    print(f"created `{args.topic}` with {args.partitions} partitions")
    return 0


def describe(args: argparse.Namespace) -> int:
    """Settings, then one line per partition."""
    log = log_of(args)
    topic = log.describe(args.topic)
    places = [TopicPartition(topic.name, partition) for partition in range(topic.partitions)]
    first, ends = log.earliest(places), log.latest(places)
    print(f"topic      {topic.name}")
    print(f"partitions {topic.partitions}")
    for name, value in sorted(topic.config.items()):
        print(f"config     {name}={value}")
    print("partition  earliest      latest")
    for place in places:
        print(f"{place.partition:>9}  {first[place]:>8}  {ends[place]:>10}")
    return 0


def alter(args: argparse.Namespace) -> int:
    """Change settings; those that are not named stay."""
    changes = pairs(args.config, "--config")
    if not changes:
        raise ConfigError(
            "nothing to change: give `--config NAME=VALUE`, or `--config NAME=` for the default"
        )
    log_of(args).alter_topic(args.topic, {name: value or None for name, value in changes.items()})
    print(f"altered `{args.topic}`")
    return 0


def delete(args: argparse.Namespace) -> int:
    """Remove a topic."""
    try:
        log_of(args).delete_topic(args.topic)
    except LogError as error:
        if "does not exist" in error.message:
            raise LogError(f"topic `{args.topic}` does not exist: nothing was deleted") from error
        raise
    print(f"deleted `{args.topic}`")
    return 0
