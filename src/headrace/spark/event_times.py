"""When the records of a partition happened, asked without reading all of them.

A log finds the first record of a time by itself, as long as that is the time of the log. Where a timestamp extractor
takes it from the record, it is looked for by halves, in the belief that the times of a partition about rise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from headrace.log.base import Chunk, TopicLog, TopicPartition

Spans = Mapping[TopicPartition, tuple[int, int]]
Extract = Callable[[Chunk], list[int]]
"""The times of a chunk's records, negative for those that have none."""

FEW = 10
"""Records that are looked at where one would do: an offset may be a transaction's marker, which nobody can read, and
a record may be out of order."""
BLOCK = 2_000
"""Records that are read at once where one after the other has to be looked at."""


class EventTimes:
    """Times of records: those of the log, or what `extract` says for its topics."""

    def __init__(self, log: TopicLog, extract: Mapping[str, Extract] | None = None) -> None:
        self._log = log
        self._extract = extract or {}

    def last(self, spans: Spans) -> dict[TopicPartition, int]:
        """The time that each span reaches: the highest of its last records."""
        found: dict[TopicPartition, int] = {}
        few = FEW
        left = dict(spans)
        while left:
            for tp, times in self._read({tp: (max(a, b - few), b) for tp, (a, b) in left.items()}):
                found[tp] = max(found.get(tp, -1), *times)
            left = {tp: (a, b - few) for tp, (a, b) in left.items() if tp not in found and b - few > a}
            few *= 10
        return found

    def first(self, spans: Spans) -> dict[TopicPartition, int]:
        """The time of the first record of each span."""
        found: dict[TopicPartition, int] = {}
        few = FEW
        left = dict(spans)
        while left:
            for tp, times in self._read({tp: (a, min(b, a + few)) for tp, (a, b) in left.items()}):
                found.setdefault(tp, times[0])
            left = {tp: (a + few, b) for tp, (a, b) in left.items() if tp not in found and a + few < b}
            few *= 10
        return found

    def first_after(self, spans: Spans, until: int) -> dict[TopicPartition, int]:
        """Of each span the offset of the first record that is later than `until`, or its end."""
        by_log = {tp: span for tp, span in spans.items() if tp.topic not in self._extract}
        found = {tp: end for tp, (_, end) in spans.items()}
        out_of_order: dict[TopicPartition, tuple[int, int]] = {}
        since = {tp: start for tp, (start, _) in by_log.items()}
        for tp, offset in self._log.offsets_for_times(dict.fromkeys(by_log, until + 1), since=since).items():
            start, end = by_log[tp]
            if offset < start:
                # Kafka has found one that has been read already. What counts is what comes now.
                out_of_order[tp] = (start, end)
            else:
                found[tp] = min(offset, end)
        halves = self._narrowed({tp: span for tp, span in spans.items() if tp not in by_log}, until)
        return found | self._scan(out_of_order | halves, until)

    def _narrowed(self, spans: Spans, until: int) -> dict[TopicPartition, tuple[int, int]]:
        """The part of each span where the time passes `until`, found by halves."""
        spans = dict(spans)
        while wide := {tp: (a + b) // 2 for tp, (a, b) in spans.items() if b - a > BLOCK}:
            heads = self.first({tp: (middle, spans[tp][1]) for tp, middle in wide.items()})
            for tp, middle in wide.items():
                start, end = spans[tp]
                spans[tp] = (middle, end) if heads.get(tp, until + 1) <= until else (start, middle)
        return spans

    def _scan(self, spans: Spans, until: int) -> dict[TopicPartition, int]:
        """The same, by looking at one record after the other."""
        found: dict[TopicPartition, int] = {}
        left = dict(spans)
        while left:
            for chunk in self._log.read({tp: (a, min(b, a + BLOCK)) for tp, (a, b) in left.items()}):
                tp = TopicPartition(chunk.topic, chunk.partition)
                if tp not in found:
                    later = (o for o, t in zip(chunk.offsets, self._times(chunk), strict=True) if t > until)
                    offset = next(later, None)
                    if offset is not None:
                        found[tp] = int(offset)
            left = {tp: (a + BLOCK, b) for tp, (a, b) in left.items() if tp not in found and a + BLOCK < b}
        return {tp: found.get(tp, end) for tp, (_, end) in spans.items()}

    def _read(self, spans: Spans) -> Iterator[tuple[TopicPartition, list[int]]]:
        for chunk in self._log.read(spans):
            times = [time for time in self._times(chunk) if time >= 0]
            if times:
                yield TopicPartition(chunk.topic, chunk.partition), times

    def _times(self, chunk: Chunk) -> list[int]:
        extract = self._extract.get(chunk.topic)
        return list(chunk.timestamps) if extract is None else extract(chunk)
