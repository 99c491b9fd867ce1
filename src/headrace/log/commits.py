"""The topic that holds the newest commit of an application, and the rules for its start."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.errors import LogError
from headrace.log.base import TopicPartition

if TYPE_CHECKING:
    from headrace.log.base import TopicLog

COMMIT = "commit"
COMMIT_KEY = COMMIT.encode()
LEASE_KEY = b"lease"
TOPOLOGY = "topology"
"""What is kept beside the commit record: the topology that made it."""


def commits_topic(application_id: str) -> str:
    """The compacted topic that holds the newest commit record.

    >>> commits_topic("orders")
    'orders-commits'
    """
    return f"{application_id}-commits"


def check_changelogs(
    log: TopicLog, application_id: str, changelogs: Iterable[str], commit: bytes | None
) -> None:
    """LogError when the changelogs and the newest commit record do not belong together: refuse to guess.

    Without a commit record nothing says how far the changelogs are true; with one, none of them may be gone.
    """
    topics = log.topics()
    for changelog in changelogs:
        if changelog not in topics:
            if commit is not None:
                raise LogError(
                    f"application `{application_id}` has committed before, but its changelog `{changelog}` is gone: "
                    "restore the topic, or start afresh under another `application_id`"
                )
            continue
        if commit is None and _has_records(log, changelog, topics[changelog]):
            raise LogError(
                f"changelog `{changelog}` has records, but `{commits_topic(application_id)}` has no commit of "
                f"application `{application_id}`, so nobody knows which of them count: delete the changelog to "
                "start afresh, or use another `application_id`"
            )


def _has_records(log: TopicLog, topic: str, partitions: int) -> bool:
    """Whether there is a committed record: offsets are used up, too, by a first commit that was broken off."""
    places = [TopicPartition(topic, partition) for partition in range(partitions)]
    first, last = log.earliest(places), log.latest(places)
    ranges = {place: (first[place], last[place]) for place in places if first[place] < last[place]}
    return bool(ranges) and any(len(chunk) for chunk in log.read(ranges))
