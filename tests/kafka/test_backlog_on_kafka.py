"""The same on a broker: its offsets for times, markers of transactions between the records, partitions out of order."""

from __future__ import annotations

import pytest
from backlogs import Run, values

from headrace.log.base import TopicLog, TopicPartition


@pytest.mark.parametrize("extracted", [False, True], ids=["by-the-log", "by-an-extractor"])
def test_a_backlog_on_kafka_is_read_in_the_order_of_time(log: TopicLog, name: str, extracted: bool) -> None:
    busy, quiet, wild = (TopicPartition(f"{name}-{topic}", 0) for topic in ("busy", "quiet", "wild"))
    backlog = {
        busy: range(12_000),
        quiet: range(0, 12_000, 400),
        wild: [1, 9_000, *range(2, 9_000, 300), *range(9_000, 12_000, 300)],
    }
    extract = {busy.topic: values, quiet.topic: values} if extracted else {}
    try:
        run = Run(log, backlog, 3000, extract=extract)
    finally:
        for tp in backlog:
            log.delete_topic(tp.topic)
    run.check(frozenset(backlog))
    assert 4 <= len(run.batches) <= 8
