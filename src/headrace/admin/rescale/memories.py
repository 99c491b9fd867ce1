"""What the tasks remember, for other tasks: stream times, due times of punctuators, what was sent already.

A new task has keys of several old ones. Its times are the latest of theirs: so no window that was closed for a key
opens again, and nothing that is final is sent twice. It is also the time that a task with these keys would have had
from the start, wherever old tasks go into new ones as a whole. The price: where an old task was behind the others by
more than the grace, its next records are late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, lcm
from typing import Any

import msgspec

from headrace.errors import RescaleError

NOTHING_SENT = -1


def contributors(new: int, old_count: int, new_count: int, *, hashed: bool) -> list[int]:
    """The old tasks whose keys a new task may have: those with the same remainder by the common divisor, if keys were
    placed by their hash; else all.

    >>> (
    ...     contributors(1, 4, 2, hashed=True),
    ...     contributors(5, 4, 8, hashed=True),
    ...     contributors(0, 3, 5, hashed=True),
    ... )
    ([1, 3], [1], [0, 1, 2])
    """
    if not hashed:
        return list(range(old_count))
    step = gcd(old_count, new_count)
    return [old for old in range(old_count) if old % step == new % step]


def merged(memories: Sequence[Mapping[str, Any]], taken: Sequence[int], *, hashed: bool) -> dict[str, Any]:
    """The memory of a new task, out of those of all old ones and the numbers of those whose keys it gets."""
    found: dict[str, Any] = {}
    names = dict.fromkeys(name for number in taken for name in memories[number])
    for name in names:
        given = [memories[number][name] for number in taken if name in memories[number]]
        whole = len(given) == len(taken)
        last = name.rpartition("/")[2]
        if last in ("emitted", "emitted-before"):
            found |= _sent(name.removesuffix("-before"), memories, taken, hashed=hashed)
        elif isinstance(given[0], list):
            due = _due(given, whole=whole, wall_clock="/wall/" in name)
            if due is not None:
                found[name] = due
        elif last == "oldest":
            found[name] = min(given)
        else:
            found[name] = max(given)
    return found


def _due(given: Sequence[list[int]], *, whole: bool, wall_clock: bool) -> list[int] | None:
    """[due, place in the heap] of a punctuator. By stream time it is that of the latest task, since its time is taken;
    by the wall clock the first that is due. One that was cancelled counts where it was cancelled everywhere.
    """
    running = [each for each in given if each[0] >= 0]
    if not running:
        return given[0] if whole else None
    return min(running) if wall_clock else max(running)


def _sent(
    name: str, memories: Sequence[Mapping[str, Any]], taken: Sequence[int], *, hashed: bool
) -> dict[str, Any]:
    """Up to when closed windows were sent: the earliest, and beside it what holds for the keys of each old task, so
    that the others' windows are not sent again. A task that has seen no record since it was made by another rescaling
    has such a list itself: then the new one goes by both.
    """
    lists = [memory.get(f"{name}-before") for memory in memories]
    count = len(memories)
    whole = lcm(count, *(len(each) for each in lists if each is not None))
    sent = []
    for place in range(whole):
        memory, each = memories[place % count], lists[place % count]
        sent.append(memory.get(name, NOTHING_SENT) if each is None else each[place % len(each)])
    mine = {sent[place] for place in range(whole) if place % count in taken}
    if len(mine) == 1:
        return {name: mine.pop()}
    if not hashed:
        raise RescaleError(
            f"the tasks of `{name.rpartition('/')[0]}` have sent their final results up to different times, and the "
            "records were not placed by Kafka's partitioner, so that nothing says which key was in which task: let "
            "the application come to rest with all partitions at one time, and try again"
        )
    return {name: min(mine), f"{name}-before": sent}


@dataclass(frozen=True, slots=True)
class Memories:
    """What the tasks of a sub-topology will remember."""

    sub: int
    new: Mapping[int, bytes]
    """By task; those without anything to remember are not there."""
    written: int
    """When the last of the old ones was."""
    apart: int
    """How many milliseconds the times of old tasks are apart that go into one new task."""


def new_memories(
    sub: int, old: Sequence[tuple[bytes | None, int]], new_count: int, *, hashed: bool
) -> Memories:
    """Out of what all old tasks remember, and when that was written."""
    memories = [_decoded(memory) for memory, _ in old]
    written, apart = {}, 0
    for task in range(new_count):
        taken = contributors(task, len(old), new_count, hashed=hashed)
        try:
            memory = merged(memories, taken, hashed=hashed)
        except RescaleError as error:
            raise RescaleError(f"sub-topology {sub}: {error.message}") from error
        if memory:
            written[task] = msgspec.json.encode(memory, order="deterministic")
        apart = max(apart, _apart([memories[number] for number in taken]))
    return Memories(sub, written, max(time for _, time in old), apart)


def _apart(memories: Sequence[Mapping[str, Any]]) -> int:
    """Of tasks that know a time; what has never seen a record closes nothing."""
    found = 0
    for name in {name for memory in memories for name in memory if name.endswith("stream-time")}:
        times = [memory[name] for memory in memories if name in memory]
        found = max(found, max(times) - min(times))
    return found


def _decoded(memory: bytes | None) -> dict[str, Any]:
    return {} if memory is None else msgspec.json.decode(memory, type=dict[str, Any])
