"""Where a batch stops when there is more to read than fits into it: at one point in time for all that meets in a task.

Kafka Streams takes, of the partitions of a task, the record with the lowest time at the head, and waits for those that
still have records on the broker. A batch is a piece of that order: it ends at a time `T`, and of every partition it
takes what comes before the first record later than `T`. So no partition can make the time run ahead of what another
one still has to say, however unequal they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.log.base import TopicPartition
from headrace.spark.event_times import EventTimes

Offsets = Mapping[TopicPartition, int]

ROUNDS = 4
"""How often shares are given out anew, when the common time leaves most of a batch empty."""


def aligned_ends(
    times: EventTimes, starts: Offsets, backlog: Offsets, shares: Offsets
) -> dict[TopicPartition, int]:
    """The ends of a batch over partitions that meet, each at most its share (at least one) behind its start.

    Shares are a guess. Where the time of one partition holds the others back so much that less than half of them is
    used, they are given out again as that piece of time has shown the partitions to be filled.
    """
    limit = sum(shares.values())
    best = dict(starts)
    for _ in range(ROUNDS):
        ends = _cut(times, starts, backlog, shares)
        used = {tp: ends[tp] - starts[tp] for tp in ends}
        total = sum(used.values())
        if total <= sum(best[tp] - starts[tp] for tp in best):
            break
        best = ends
        if 2 * total >= limit:
            break
        spare = max(0, limit - len(starts))
        shares = {tp: min(backlog[tp], 1 + used[tp] * spare // total) for tp in starts}
    return best


def _cut(times: EventTimes, starts: Offsets, backlog: Offsets, shares: Offsets) -> dict[TopicPartition, int]:
    ends = {tp: start + shares[tp] for tp, start in starts.items()}
    reading = [tp for tp in starts if shares[tp]]
    cut = {tp: (starts[tp], ends[tp]) for tp in reading if shares[tp] < backlog[tp]}
    reached = times.last(cut)
    if not reached:
        return ends
    found = _stops(times, starts, ends, reading, min(reached.values()))
    if found == starts:
        # All that is left begins later, or out of order: the earliest that can be had is next.
        heads = times.first({tp: (starts[tp], ends[tp]) for tp in reading})
        if not heads:
            return ends
        found = _stops(times, starts, ends, reading, min(heads.values()))
    return found if found != starts else ends


def _stops(
    times: EventTimes, starts: Offsets, ends: Offsets, reading: Sequence[TopicPartition], until: int
) -> dict[TopicPartition, int]:
    spans = {tp: (starts[tp], ends[tp]) for tp in reading}
    return dict(starts) | dict(times.first_after(spans, until))
