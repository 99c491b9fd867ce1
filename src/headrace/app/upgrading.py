"""At each start: is this the topology that made the last commits, and if not, can it go on with what they left?

The topology is kept beside the commit record and written with the first commit that it makes, so that the two cannot
get out of step.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from headrace.config import StreamsConfig
from headrace.errors import UpgradeError
from headrace.log.base import TopicLog
from headrace.log.commits import TOPOLOGY
from headrace.resolve import resolved_data
from headrace.topology.data import Data
from headrace.topology.topology import Topology
from headrace.topology.upgrade.changes import Change, Comparison, Level
from headrace.topology.upgrade.comparing import compare_with_kept

logger = logging.getLogger("headrace")

_TOLD = 3
"""Changes that fit into one line."""


def check_upgrade(
    log: TopicLog, topology: Topology, config: StreamsConfig, *, accept_changes: bool = False
) -> Mapping[str, bytes]:
    """What the first commit has to keep beside it: the topology, unless it is there already.

    Raises UpgradeError when the application cannot go on with its state. With `accept_changes` it may leave some
    behind, but never take rows for what they are not.
    """
    new = _as_text(resolved_data(topology, config, origins=False))
    old = log.committed(config.application_id, TOPOLOGY)
    if old == new:
        return {}
    if old is not None:
        found = compare_with_kept(old, resolved_data(topology, config))
        worst = Level.MOVES if not accept_changes else Level.RESET
        if found.level >= worst:
            raise _refused(found, config.application_id, accept_changes=accept_changes)
        if found.changes:
            logger.warning(_in_one_line(found, config.application_id))
    return {TOPOLOGY: new}


def is_the_kept_one(log: TopicLog, topology: Topology, config: StreamsConfig) -> bool:
    """Whether the last commit was made by this very topology."""
    kept = log.committed(config.application_id, TOPOLOGY)
    return kept == _as_text(resolved_data(topology, config, origins=False))


def _as_text(found: Data) -> bytes:
    return json.dumps(found, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _in_one_line(found: Comparison, application_id: str) -> str:
    told = "; ".join(_short(change) for change in found.changes[:_TOLD])
    more = len(found.changes) - _TOLD
    rest = f"; and {more} more, which `headrace check` tells" if more > 0 else ""
    accepted = f" ({found.level.words}, and accepted)" if not found.is_safe else ""
    return (
        f"application `{application_id}` goes on with another topology than that of its last commit{accepted}: "
        f"{told}{rest}"
    )


def _short(change: Change) -> str:
    return f"{change.subject} {change.message}"


def _refused(found: Comparison, application_id: str, *, accept_changes: bool) -> UpgradeError:
    wrong = [change for change in found.changes if change.level > Level.SAFE]
    ways = [
        "mend it as each `fix` says",
        "start afresh: `headrace reset` (it keeps the output topics), or another `application_id`",
    ]
    if found.level < Level.RESET and not accept_changes:
        ways.append(
            "go on all the same and leave that state behind: `--accept-changes`, or `Streams(..., accept_changes=True)`"
        )
    listed = "\n".join(f"  {change}" for change in wrong)
    return UpgradeError(
        f"application `{application_id}` cannot go on: its state was made by another topology\n{listed}\n"
        + "\n".join(f"  {'or' if number else 'either'} {way}" for number, way in enumerate(ways))
    )
