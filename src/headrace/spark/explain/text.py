"""The plan of an application as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from headrace.config import StreamsConfig
from headrace.log.commits import commits_topic
from headrace.spark.explain.words import count, duration, steps, store_words, task_names
from headrace.spark.layout import HEAD, Layout, Placement
from headrace.spark.meeting import extracted_times, meeting_partitions
from headrace.topology.topology import Topology

COLUMN = 34


def plan_text(
    topology: Topology, config: StreamsConfig, layout: Layout, assumed: frozenset[str], slots: int | None
) -> str:
    """All of it: what is read, each stage, the commit, and the settings that matter."""
    return "\n".join(_Text(topology, config, layout, assumed, slots).lines())


class _Text:
    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        layout: Layout,
        assumed: frozenset[str],
        slots: int | None,
    ) -> None:
        self.topology, self.config, self.layout = topology, config, layout
        self.assumed, self.slots = assumed, slots
        self.in_slots = "as many slots as the cluster has cores" if slots is None else count(slots, "slot")
        self.tables: Mapping[str, str] = {topic: store for store, topic in layout.globals.items()}
        self.written = {s.topic for p in layout.placements for s in p.sub.sinks if not s.repartition}

    def lines(self) -> Iterator[str]:
        layout = self.layout
        tasks = sum(p.tasks for p in layout.placements if p.stage > HEAD)
        yield (
            f"{self.config.application_id}: one Spark query, {count(layout.stages, 'stage')} behind the reader, "
            + (f"{count(tasks, 'task')} in {self.in_slots}" if tasks else "no task with state")
        )
        if layout.by_key:
            yield "(rescaled: a record goes to the task of its key, whatever partition it comes from)"
        if self.assumed:
            yield f"({', '.join(sorted(self.assumed))}: not looked at or not there yet, partitions are assumed)"
        yield ""
        yield _head("READ", "plans a batch, and reads it from the log")
        for topic, partitions in layout.topics.items():
            yield _row("topic", topic, self._topic(topic, partitions))
        for topic, partitions in layout.global_partitions.items():
            yield _row(
                "topic",
                topic,
                f"{count(partitions, 'partition')}; global table `{self.tables[topic]}`, whole on every host",
            )
        for placement in layout.placements:
            if placement.stage == HEAD:
                yield from self._placement(placement)
        for stage in range(1, layout.stages + 1):
            yield ""
            yield _head(f"STAGE {stage}", f"behind a shuffle by task; {self.in_slots}")
            for placement in layout.placements:
                if placement.stage == stage:
                    yield from self._placement(placement)
        yield ""
        yield _head("COMMIT", "one transaction of the log for each batch: all of it, or nothing")
        yield from self._commit()
        yield ""
        yield _head("SETTINGS", "that decide about batches")
        yield from self._settings()

    def _topic(self, topic: str, partitions: int) -> str:
        reader = self.layout.reader_of(topic)
        where = "here" if reader.stage == HEAD else f"in stage {reader.stage}"
        said = f"{count(partitions, 'partition')}; read by sub-topology {reader.sub.id}, {where}"
        if self.layout.node_topic(topic) in self.layout.looped:
            said += "; what the batch before sent back"
        elif topic in self.written:
            said += "; the application also writes it, and reads that in the next batch"
        return said

    def _placement(self, placement: Placement) -> Iterator[str]:
        sub = placement.sub
        what = "without state, while reading" if placement.stage == HEAD else f"tasks {task_names(placement)}"
        yield f"  sub-topology {sub.id}: {what}"
        doing = steps(sub)
        if doing:
            yield from _wrapped("    does     ", " → ".join(doing))
        for source in sub.sources:
            if source.repartition:
                for name in source.topics:
                    if name in self.layout.looped:
                        yield _row("  reads", self.layout.internal_name(name), "from the log, a batch later")
                    else:
                        yield _row("  reads", name, "shuffled by Spark, there is no such topic")
        for spec in sub.stores:
            if spec.changelog_topic is not None:
                changelog = f"its changelog is the topic {spec.changelog_topic}"
            else:
                changelog = self.layout.changelog(spec.name) if spec.logging else "no changelog"
            yield _row("  store", spec.name, f"{store_words(spec)}; {changelog}")
        for sink in sub.sinks:
            if sink.topic is None:
                yield _row("  writes", "(chosen per record)", "")
            elif sink.repartition:
                number = self.layout.repartitions[sink.topic]
                if sink.topic in self.layout.looped:
                    yield _row(
                        "  sends",
                        self.layout.internal_name(sink.topic),
                        f"{count(number, 'partition')} of the log",
                    )
                else:
                    stage = min(p.stage for p in self.layout.repartition_readers[sink.topic])
                    yield _row("  sends", sink.topic, f"to {count(number, 'task')} of stage {stage}, by key")
            else:
                yield _row("  writes", sink.topic, "")

    def _commit(self) -> Iterator[str]:
        outputs = sorted(topic for topic in self.written if topic is not None)
        changelogs = [
            self.layout.changelog(spec.name)
            for placement in self.layout.placements
            for spec in placement.sub.stores
            if spec.logging and spec.changelog_topic is None
        ]
        if outputs:
            yield _row("outputs", ", ".join(outputs), "")
        if changelogs:
            yield _row("changelogs", count(len(changelogs), "store"), "and what each task remembers")
        yield _row("positions", commits_topic(self.config.application_id), "")

    def _settings(self) -> Iterator[str]:
        config = self.config
        yield _setting("log", config.bootstrap_servers or str(config.log_path))
        yield _setting("stores", str(config.state_path))
        yield _setting(
            "max_batch_records", f"{config.max_batch_records:,}; the first batch of a start is smaller"
        )
        yield _setting("max_batch_bytes", f"{config.max_batch_bytes:,}")
        few = count(config.small_batch_records, "record")
        yield _setting(
            "small batches", f"of up to {few} are done by one Spark task, if all stores are on one host"
        )
        yield _setting("commit_interval", duration(config.commit_interval // timedelta(milliseconds=1)))
        yield _setting("max_task_idle", duration(config.max_task_idle // timedelta(milliseconds=1)))
        groups = meeting_partitions(self.layout, config)
        topics = sorted({tp.topic for group in groups for tp in group})
        if topics:
            own = sorted(set(extracted_times(self.layout, config)) & set(topics))
            told = f", which the records of {', '.join(own)} say themselves" if own else ""
            yield _setting("a long backlog", f"is read in the order of time over {', '.join(topics)}{told}")


def _setting(name: str, value: str) -> str:
    return f"  {name:<17} {value}"


def _head(title: str, said: str) -> str:
    return f"{title:<{COLUMN // 2}} {said}"


def _row(what: str, name: str, said: str) -> str:
    return f"  {what:<10} {name:<{COLUMN}}  {said}".rstrip()


def _wrapped(first: str, text: str, width: int = 110) -> Iterator[str]:
    line = first
    for word in text.split(" → "):
        more = word if line.strip() == first.strip() else f" → {word}"
        if len(line) + len(more) > width:
            yield line + " →"
            line, more = " " * len(first), word
        line += more
    yield line
