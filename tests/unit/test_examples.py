"""The examples in the test driver. Their tests on Spark and on Kafka assert the same."""

from __future__ import annotations

import pytest
from examples_data import EXAMPLES, Example, per_key

from headrace.testing import TopologyTestDriver


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_writes_what_is_expected(example: Example) -> None:
    with TopologyTestDriver(example.topology) as driver:
        for topic, key, value, timestamp in example.inputs:
            driver.input(topic).pipe(key, value, timestamp=timestamp)
        records = driver.output(example.output).read_records()
    assert per_key((record.key, record.value, record.timestamp) for record in records) == example.expected
