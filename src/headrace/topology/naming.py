"""Names of nodes and stores: one counter, in order of creation, so that they equal Kafka Streams' names."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.errors import InvalidArgumentError
from headrace.origin import Origin

STATE_STORE = "STATE-STORE-"
REPARTITION_SUFFIX = "-repartition"

_LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")
_GENERATED = re.compile(r"KSTREAM.*-[0-9]{10}")


@dataclass(slots=True)
class Namer:
    """The counter of one builder, and what its stores are where nothing is said. A name that the user gives still
    uses up a number, as in Kafka Streams.

    >>> namer = Namer()
    >>> namer.node("KSTREAM-SOURCE-"), namer.node("KSTREAM-FILTER-", "cheap"), namer.store("KSTREAM-REDUCE-")
    ('KSTREAM-SOURCE-0000000000', 'cheap', 'KSTREAM-REDUCE-STATE-STORE-0000000002')
    """

    count: int = 0
    persistent: bool = True
    """Whether stores are on disk."""

    def node(self, prefix: str, given: str | None = None) -> str:
        """A node's name: the given one, or the next generated one."""
        generated = f"{prefix}{self.count:010d}"
        self.count += 1
        return generated if given is None else given

    def store(self, prefix: str) -> str:
        """The next generated store name."""
        return self.node(prefix + STATE_STORE)


@dataclass(frozen=True, slots=True)
class RepartitionNames:
    """The topic between two sub-topologies and the nodes around it."""

    topic: str
    sink: str
    filter: str
    source: str


def repartition_names(namer: Namer, base: str) -> RepartitionNames:
    """Names around a repartition topic; the nodes follow the topic when a user's name is in it."""
    topic = base if base.endswith(REPARTITION_SUFFIX) else base + REPARTITION_SUFFIX
    sink = namer.node("KSTREAM-SINK-")
    filter_ = namer.node("KSTREAM-FILTER-")
    source = namer.node("KSTREAM-SOURCE-")
    if _GENERATED.fullmatch(base):
        return RepartitionNames(topic, sink, filter_, source)
    return RepartitionNames(topic, f"{topic}-sink", f"{topic}-filter", f"{topic}-source")


def is_legal(name: str) -> bool:
    """Whether Kafka takes it as the name of a topic."""
    return _LEGAL.fullmatch(name) is not None and name not in {".", ".."}


def check_name(name: str, what: str, origin: Origin) -> None:
    """Refuse a name that could not be part of a topic's name."""
    if not isinstance(name, str) or not is_legal(name):
        raise InvalidArgumentError(
            f"`{what}` becomes part of topic names: 1 to 249 letters, digits, `.`, `_` and `-`, got {name!r}",
            origin=origin,
        )
