"""The settings of a topic: Kafka's names, those that this log heeds, and what is wrong with the others."""

from __future__ import annotations

import math
from collections.abc import Mapping

from headrace.errors import LogError
from headrace.meant import did_you_mean

_POLICIES = ({"delete"}, {"compact"}, {"compact", "delete"})
DEFAULTS: Mapping[str, str] = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "delete.retention.ms": "86400000",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
}
"""What this log heeds. Records stay for ever unless a topic says otherwise: the disk is the user's own."""

# Kafka's others are kept and shown but do nothing here, so that one script makes topics on both logs.
# fmt: off
_WITHOUT_EFFECT = frozenset({
    "compression.gzip.level", "compression.lz4.level", "compression.type", "compression.zstd.level",
    "file.delete.delay.ms", "flush.messages", "flush.ms", "follower.replication.throttled.replicas",
    "index.interval.bytes", "leader.replication.throttled.replicas", "local.retention.bytes",
    "local.retention.ms", "max.compaction.lag.ms", "max.message.bytes", "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms", "message.timestamp.type", "min.insync.replicas", "preallocate",
    "remote.log.copy.disable", "remote.log.delete.on.disable", "remote.storage.enable", "segment.bytes",
    "segment.index.bytes", "segment.jitter.ms", "segment.ms", "unclean.leader.election.enable",
})
# fmt: on


def check(topic: str, config: Mapping[str, str]) -> dict[str, str]:
    """The settings, if all of them are Kafka's and make sense; LogError says which one does not."""
    for name, value in config.items():
        if name not in DEFAULTS and name not in _WITHOUT_EFFECT:
            hint = did_you_mean(name.replace("_", "."), [*DEFAULTS, *_WITHOUT_EFFECT])
            hint = hint or f"it heeds {', '.join(DEFAULTS)}"
            raise LogError(f"topic `{topic}`: there is no setting `{name}`: {hint}")
        if name == "cleanup.policy":
            _check_policy(topic, value)
        elif name in DEFAULTS:
            _check_number(topic, name, value)
    return dict(config)


def _check_policy(topic: str, policy: str) -> None:
    if {part.strip() for part in policy.split(",")} not in _POLICIES:
        raise LogError(
            f"`cleanup.policy` of topic `{topic}` is `delete`, `compact` or `compact,delete`, got {policy!r}"
        )


def _check_number(topic: str, name: str, value: str) -> None:
    is_ratio = name == "min.cleanable.dirty.ratio"
    least = -1 if name.startswith("retention.") else 0
    try:
        number = float(value) if is_ratio else int(value)
    except (TypeError, ValueError):
        number = math.nan
    if not least <= number or (is_ratio and number > 1):
        allowed = "from 0 to 1" if is_ratio else "of 0 or more" + (", or -1 for no limit" if least else "")
        raise LogError(f"`{name}` of topic `{topic}` is a number {allowed}, got {value!r}")
