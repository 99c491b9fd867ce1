"""How things are said in an explanation, as text and in its picture."""

from __future__ import annotations

from headrace.spark.layout import Placement
from headrace.topology.data import data
from headrace.topology.nodes import SubTopology
from headrace.topology.picture.labels import kind_text
from headrace.topology.stores import StoreSpec

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))


def count(number: int, what: str) -> str:
    """So many, in the singular where it is one.

    >>> count(1, "task"), count(1200, "task")
    ('1 task', '1,200 tasks')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def duration(milliseconds: int) -> str:
    """The two largest units.

    >>> duration(330_000), duration(0)
    ('5 min 30 s', '0 ms')
    """
    parts = []
    for unit, size in _UNITS:
        whole, milliseconds = divmod(milliseconds, size)
        parts += [f"{whole} {unit}"] if whole else []
    return " ".join(parts[:2]) or "0 ms"


def task_names(placement: Placement) -> str:
    """The first and the last.

    >>> task_names(Placement(SubTopology(1, (), ()), 1, 4, ()))
    '1_0 … 1_3'
    """
    first, last = f"{placement.sub.id}_0", f"{placement.sub.id}_{placement.tasks - 1}"
    return first if placement.tasks == 1 else f"{first} … {last}"


def steps(sub: SubTopology) -> list[str]:
    """What is done to a record, from the sources on: one entry for each node, in the order of the program."""
    nodes = data([sub], [], [], [])["subtopologies"][0]["nodes"]
    return [kind_text(node) for node in nodes if node["type"] == "processor"]


def store_words(spec: StoreSpec) -> str:
    """Its kind, and how long it keeps what."""
    said = [spec.kind.replace("_", " ")]
    if spec.retention_ms:
        said.append(f"kept {duration(spec.retention_ms)}")
    if spec.ttl_ms:
        said.append(f"rows live {duration(spec.ttl_ms)}")
    if not spec.persistent:
        said.append("in memory")
    return ", ".join(said)
