"""`Explanation`: the plan of an application, as text and as a picture."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.config import StreamsConfig
from headrace.spark.explain.picture import PlanPicture, plan_picture
from headrace.spark.explain.text import plan_text
from headrace.spark.layout import Layout, lay_out
from headrace.spark.named_topics import missing_topics
from headrace.topology.topology import Topology


@dataclass(frozen=True)
class Explanation:
    """What `Streams.explain()` and `headrace explain` show; `str()` gives the text.

    >>> from headrace import StreamsBuilder
    >>> builder = StreamsBuilder()
    >>> builder.stream("words", value=str).group_by(lambda key, word: word).count().to_stream().to("counts")
    >>> told = explain(builder.build(), StreamsConfig(application_id="app", master="local[2]"), {"words": 4})
    >>> str(told).splitlines()[0]
    'app: one Spark query, 1 stage behind the reader, 4 tasks in 2 slots'
    """

    topology: Topology
    config: StreamsConfig
    layout: Layout
    assumed: frozenset[str]
    """Topics that are not there yet, or were not looked at: their partitions are those they would be made with."""
    slots: int | None
    """Spark tasks that a stage has; None while only the cluster knows."""

    def __str__(self) -> str:
        return plan_text(self.topology, self.config, self.layout, self.assumed, self.slots)

    def to_svg(self, title: str | None = None) -> str:
        """One picture that needs nothing else, light or dark as the reader's screen is."""
        # Here and not above: drawing is asked for seldom.
        from headrace.topology.picture.svg import to_svg

        return to_svg(self._picture().figure(), title or self.config.application_id)

    def to_mermaid(self) -> str:
        """The same as a Mermaid flowchart."""
        return self._picture().mermaid()

    def _picture(self) -> PlanPicture:
        return plan_picture(self.topology, self.config, self.layout, self.assumed, self.slots)


def explain(
    topology: Topology,
    config: StreamsConfig,
    available: Mapping[str, int] | None = None,
    tasks: int | None = None,
) -> Explanation:
    """Explain a topology over the topics that are there, by name with their partitions; others are assumed. `tasks` is
    what a rescaling has set.
    """
    known = dict(available or {})
    assumed = frozenset(topic for topic, _ in missing_topics(topology, known))
    layout = lay_out(
        topology,
        config.application_id,
        known | dict.fromkeys(assumed, config.default_partitions),
        config.default_timestamp_extractor,
        tasks,
    )
    return Explanation(topology, config, layout, assumed, _slots(config.master, layout.tasks))


def _slots(master: str | None, tasks: int) -> int | None:
    """As many as there are cores, at most one for each task."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if master is not None and master != "local[*]":
        named = re.fullmatch(r"local(?:\[(\d+)(?:,\d+)?\])?", master)
        if named is None:
            return None
        cores = int(named[1] or 1)
    return min(cores, tasks)
