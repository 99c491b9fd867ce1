"""What is done to the logical graph before it becomes a topology: one file per pass, each a function graph → graph."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.dsl.graph import Graph, Pass
from headrace.dsl.passes.keep_null_keys import keep_null_keys
from headrace.dsl.passes.materialize_tables import materialize_tables
from headrace.dsl.passes.merge_repartitions import merge_repartitions
from headrace.dsl.passes.merge_sources import merge_sources
from headrace.dsl.passes.reuse_table_topics import reuse_table_topics
from headrace.dsl.passes.single_store_self_join import single_store_self_join
from headrace.dsl.passes.tell_versioned import tell_versioned
from headrace.topology.optimization import (
    MERGE_REPARTITION_TOPICS,
    REUSE_KTABLE_SOURCE_TOPICS,
    SINGLE_STORE_SELF_JOIN,
)

PASSES: tuple[tuple[Pass, str | None], ...] = (
    (merge_sources, None),
    (materialize_tables, None),
    (reuse_table_topics, REUSE_KTABLE_SOURCE_TOPICS),
    (merge_repartitions, MERGE_REPARTITION_TOPICS),
    (single_store_self_join, SINGLE_STORE_SELF_JOIN),
    (keep_null_keys, None),
    (tell_versioned, None),
)
"""In this order; those with a name are done only where `topology.optimization` has it."""


def rewrite(graph: Graph, optimizations: frozenset[str]) -> Graph:
    """The graph after all passes that are wanted."""
    for run in _wanted(optimizations):
        graph = run(graph)
    return graph


def _wanted(optimizations: frozenset[str]) -> Iterator[Pass]:
    return (run for run, name in PASSES if name is None or name in optimizations)
