"""Made-up input: texts such as `b17` under keys such as `k3`."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.spark.harness.records import Part, Rec, encoded, partition


def parts(
    *topics: str,
    count: int = 4,
    size: int = 60,
    seed: int = 1,
    keys: int = 10,
    late: int = 0,
    step: int = 3,
) -> list[Part]:
    """Records for some topics, over which they are spread. Timestamps are unique and rise from part to part; with
    `late`, one in five is up to so much earlier than its place.
    """
    random = Random(seed)
    found: list[dict[str, list[Rec]]] = []
    time = 0
    for _ in range(count):
        part: dict[str, list[Rec]] = {topic: [] for topic in topics}
        for _ in range(size):
            time += random.randint(1, step)
            shift = random.randint(1, late) if late and random.random() < 0.2 else 0
            key, value = f"k{random.randrange(keys)}", f"{random.choice('abcd')}{random.randrange(1000)}"
            part[random.choice(topics)].append(encoded(key, value, max(0, time - shift)))
        found.append({topic: records for topic, records in part.items() if records})
    return list(found)


def of_partition(whole: Sequence[Part], number: int, partitions: int) -> list[Part]:
    """What of some input is in one partition of each topic."""
    return [
        {
            topic: [r for r in records if partition(r.key, partitions) == number]
            for topic, records in part.items()
        }
        for part in whole
    ]
