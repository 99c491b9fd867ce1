"""Which rows can be moved: those that were placed by their key, so that the key says where they belong from now on.

What the DSL keeps, it keeps under the key of the records that it is made from, inside other bytes: a window's start, a
foreign key's length. What a processor of the user's puts under which key, nobody knows; nor where a partitioner of the
user's has sent a key's records. Such stores are refused, with the node and the line that are to blame.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from struct import Struct
from typing import Any

from headrace.config import StreamsConfig
from headrace.errors import RescaleError
from headrace.origin import Origin
from headrace.resolve import node_serdes, operator_serde, store_serdes
from headrace.serdes import Serde, WindowedSerde
from headrace.serdes.described import describe_serde, serde_text
from headrace.serdes.identity import KeyAndIdSerde
from headrace.serdes.joined import JoinKeySerde
from headrace.spark.layout import HEAD, Layout, Placement
from headrace.spark.loose import by_own_partitioner, changes_key
from headrace.topology.foreign_key import KeepSubscription
from headrace.topology.nodes import ProcessorNode, SinkNode, SourceNode
from headrace.topology.operators import Deduplicate, Process, TableTransformValues
from headrace.topology.stores import StoreSpec

KeyOf = Callable[[bytes], bytes]
_SIZE = Struct(">i")


@dataclass(frozen=True, slots=True)
class Moved:
    """A store whose rows can be moved."""

    spec: StoreSpec
    placement: Placement
    key_of: KeyOf
    """From a key in the changelog to the bytes that decide its task."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a store cannot be moved, and where that comes from."""

    store: str
    reason: str
    node: str | None
    origin: Origin | None

    def __str__(self) -> str:
        where = ", ".join(
            part
            for part in (
                f"node `{self.node}`" if self.node is not None else "",
                f"at {self.origin}" if self.origin is not None else "",
            )
            if part
        )
        return f"store `{self.store}`: {self.reason}" + (f" ({where})" if where else "")


def stores_to_move(layout: Layout, config: StreamsConfig, keyed: Collection[str] = ()) -> tuple[Moved, ...]:
    """Every store, in the layout that it was filled under; RescaleError tells of all that cannot be moved.

    `keyed` names stores of the user's own of which the user says that each row is under the key of its record.
    """
    found, problems = [], []
    for placement in layout.placements:
        if placement.stage == HEAD:
            continue
        for spec in placement.sub.stores:
            wrong = list(_problems(spec, placement, layout, config, keyed))
            problems += wrong
            if not wrong:
                found.append(Moved(spec, placement, _key_of(spec, placement, config)))
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems)
        raise RescaleError(
            f"application `{layout.application_id}` cannot be given another number of tasks, since not all rows were "
            f"placed by their keys:\n{listed}"
        )
    unknown = set(keyed) - {moved.spec.name for moved in found}
    if unknown:
        raise RescaleError(f"there is no store {', '.join(f'`{name}`' for name in sorted(unknown))} to move")
    return tuple(found)


def _problems(
    spec: StoreSpec, placement: Placement, layout: Layout, config: StreamsConfig, keyed: Collection[str]
) -> Iterator[Problem]:
    nodes = {node.name: node for node in placement.sub.nodes}
    users = [n for n in placement.sub.nodes if isinstance(n, ProcessorNode) and spec.name in n.stores]

    def problem(reason: str, node: ProcessorNode | SinkNode | SourceNode | None = None) -> Problem:
        if node is None:
            return Problem(spec.name, reason, None, spec.origin)
        return Problem(spec.name, reason, node.name, node.origin)

    if not spec.logging:
        yield problem("it has no changelog, and so its rows are only on the hosts that made them")
        return
    if spec.kind == "custom":
        yield problem("it is of a kind of your own, and nothing here knows the keys of its rows")
        return
    for node in users:
        if _is_the_users(node, spec) and spec.name not in keyed:
            yield problem(
                "a processor of your own uses it, with keys that nobody else knows; if each row is under the key of "
                f"the record that it was made from, say `--keyed {spec.name}`",
                node,
            )
            return
    for parent in dict.fromkeys(parent for node in users for parent in node.parents):
        changer = changes_key(nodes[parent], nodes)
        if changer is not None:
            yield problem("on the way to it records get other keys than those they were placed by", changer)
            return
    wanted = _written_as(spec, placement, config)
    for source in _sources_of(users, placement):
        chooser = by_own_partitioner(source, layout)
        if chooser is not None:
            yield problem("its records were placed by a partitioner of your own", chooser)
            return
        written = describe_serde(_innermost(node_serdes(source, config).key))
        if wanted is not None and written != wanted:
            yield problem(
                f"its keys are written as {serde_text(wanted)}, and those of the records as {serde_text(written)}",
                source,
            )
            return


def _is_the_users(node: ProcessorNode, spec: StoreSpec) -> bool:
    """Whether the user's own code reads and writes the store through this node."""
    if isinstance(node.operator, TableTransformValues):
        return node.operator.store != spec.name
    # A read-only store is filled with records as they come, and that is all its processor may do.
    return isinstance(node.operator, Process) and spec.filled_by != node.name


def _sources_of(users: list[ProcessorNode], placement: Placement) -> list[SourceNode]:
    nodes = {node.name: node for node in placement.sub.nodes}
    found: dict[str, SourceNode] = {}
    waiting = [node.name for node in users]
    seen: set[str] = set()
    while waiting:
        node = nodes[waiting.pop()]
        if node.name in seen:
            continue
        seen.add(node.name)
        if isinstance(node, SourceNode):
            found[node.name] = node
        else:
            waiting += node.parents
    return list(found.values())


def _written_as(spec: StoreSpec, placement: Placement, config: StreamsConfig) -> Any:
    """The format of the keys in the store; None where it need not be that of the records."""
    for node in placement.sub.nodes:
        if isinstance(node, ProcessorNode) and spec.name in node.stores:
            operator = node.operator
            if isinstance(operator, KeepSubscription) and operator.store == spec.name:
                return describe_serde(operator_serde(operator.key, config, "key", node.name, node.origin))
            if isinstance(operator, Deduplicate) and operator.identity is not None and not operator.per_key:
                return None  # by id, which is what it was repartitioned by
    return describe_serde(_innermost(_key_serde(spec, config)))


def _key_serde(spec: StoreSpec, config: StreamsConfig) -> Serde[Any]:
    serde = store_serdes(spec, config).key
    assert serde is not None
    return serde


def _innermost(serde: Serde[Any]) -> Serde[Any]:
    while isinstance(serde, WindowedSerde | JoinKeySerde | KeyAndIdSerde) and serde.inner is not None:
        serde = serde.inner
    return serde


def _key_of(spec: StoreSpec, placement: Placement, config: StreamsConfig) -> KeyOf:
    steps: list[KeyOf] = []
    if spec.kind in ("window", "timestamped_window"):
        steps.append(partial(_without, 0, 12))
    elif spec.kind == "session":
        steps.append(partial(_without, 0, 16))
    elif spec.kind == "grace_buffer":
        steps.append(partial(_without, 9, 4))
    if _is_subscriptions(spec, placement):
        steps.append(_sized)
        return _chained(steps)
    serde: Serde[Any] | None = _key_serde(spec, config)
    while isinstance(serde, WindowedSerde | JoinKeySerde | KeyAndIdSerde):
        if isinstance(serde, WindowedSerde):
            steps.append(serde.key_bytes)
        else:
            steps.append(_sized if isinstance(serde, KeyAndIdSerde) else partial(_without, 9, 0))
        serde = serde.inner
    return _chained(steps)


def _is_subscriptions(spec: StoreSpec, placement: Placement) -> bool:
    return any(
        isinstance(node, ProcessorNode)
        and isinstance(node.operator, KeepSubscription)
        and node.operator.store == spec.name
        for node in placement.sub.nodes
    )


def _without(front: int, behind: int, raw: bytes) -> bytes:
    return raw[front : len(raw) - behind]


def _sized(raw: bytes) -> bytes:
    """What comes behind its own length."""
    return raw[_SIZE.size : _SIZE.size + _SIZE.unpack_from(raw)[0]]


def _chained(steps: list[KeyOf]) -> KeyOf:
    if len(steps) == 1:
        return steps[0]

    def key_of(raw: bytes) -> bytes:
        for step in steps:
            raw = step(raw)
        return raw

    return key_of
