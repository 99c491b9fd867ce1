"""Which rewrites of `topology.optimization` are asked for, in Kafka Streams' words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from headrace.errors import InvalidArgumentError
from headrace.origin import Origin

NO_OPTIMIZATION = "none"
OPTIMIZE = "all"
REUSE_KTABLE_SOURCE_TOPICS = "reuse.ktable.source.topics"
"""A table's own topic serves as the changelog of its store."""
MERGE_REPARTITION_TOPICS = "merge.repartition.topics"
"""What one change of the key would send through several internal topics goes through one."""
SINGLE_STORE_SELF_JOIN = "single.store.self.join"
"""A stream that is joined with itself is kept once."""

EACH = (REUSE_KTABLE_SOURCE_TOPICS, MERGE_REPARTITION_TOPICS, SINGLE_STORE_SELF_JOIN)

Optimization: TypeAlias = str | Iterable[str]
"""`"none"`, `"all"`, or names of rewrites: in a list, or in one text with commas between them."""


def optimizations_of(optimization: Optimization, origin: Origin) -> frozenset[str]:
    """The names of the rewrites to be done.

    >>> from headrace.origin import NOWHERE
    >>> sorted(optimizations_of("merge.repartition.topics, single.store.self.join", NOWHERE))
    ['merge.repartition.topics', 'single.store.self.join']
    >>> len(optimizations_of("all", NOWHERE)), len(optimizations_of("none", NOWHERE))
    (3, 0)
    """
    # What is neither text nor a list of texts, such as True, is no rewrite that anybody knows.
    listed = optimization if isinstance(optimization, Iterable) else [optimization]
    names = optimization.split(",") if isinstance(optimization, str) else list(listed)
    names = [str(name).strip() for name in names]
    if names in ([OPTIMIZE], [NO_OPTIMIZATION]):
        return frozenset(EACH if names == [OPTIMIZE] else ())
    unknown = [name for name in names if name not in EACH]
    if unknown:
        known = ", ".join(f'"{name}"' for name in EACH)
        raise InvalidArgumentError(
            f'`optimization` is "none", "all", or some of {known}; got {optimization!r}', origin=origin
        )
    return frozenset(names)
