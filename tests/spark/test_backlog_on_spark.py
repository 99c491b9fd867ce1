"""Two topics of very different backlog, read in many batches: the same as in the order of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import pytest

from headrace.testing import TopologyTestDriver
from tests.spark.backlog_topologies import short_windows
from tests.spark.harness import Application, Rec, append, encoded, flat

KEYS = [f"k{n}" for n in range(8)]


def records(times: Iterable[int], *, log_time: int | None) -> list[Rec]:
    return [
        encoded(KEYS[n % 8], {"n": n, "at": time}, time if log_time is None else log_time + n)
        for n, time in enumerate(times)
    ]


@pytest.mark.parametrize("extracted", [False, True], ids=["by-the-log", "by-an-extractor"])
def test_nothing_is_late_in_a_backlog_a_thousand_times_longer(
    extracted: bool, application: Callable[..., Application]
) -> None:
    """Where records say their time themselves, the topics were filled one after the other: the log does not know."""
    topology = short_windows(extracted=extracted)
    app = application(topology, max_batch_records=3000)
    inputs = {
        "busy": records(range(20_000), log_time=10**6 if extracted else None),
        "quiet": records(range(0, 20_000, 1000), log_time=2 * 10**6 if extracted else None),
    }
    append(app.log, inputs)
    streams = app.start()
    app.catch_up()
    told = str(streams.explain())
    assert "2 stages behind the reader, 8 tasks" in told
    assert "is read in the order of time over busy, quiet" in told
    assert len(app.batches) >= 6
    both = [(topic, record) for topic in inputs for record in inputs[topic]]
    with TopologyTestDriver(topology) as driver:
        for topic, record in sorted(both, key=lambda each: int((each[1].value or b"").split(b":")[-1][:-1])):
            driver.pipe_bytes(topic, *record)
        pairs = [Rec(*record) for record in driver.produced("pairs")]
        counts = {record[0]: record[1] for record in driver.produced("counts")}
    assert len(pairs) > 100
    assert Counter(flat(app.read("pairs"))) == Counter(pairs)
    assert {record.key: record.value for record in flat(app.read("counts"))} == counts
