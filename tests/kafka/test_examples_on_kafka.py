"""The examples on Spark and a real broker give what they give in the test driver, as a consumer of Kafka's sees it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from examples_data import EXAMPLES, Example

from tests.kafka.broker import Broker
from tests.kafka.reading import read_committed
from tests.spark.harness import Application, Rec, flat


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_writes_what_is_expected(
    example: Example, application: Callable[..., Application], broker: Broker
) -> None:
    inputs = {topic: [Rec(*record) for record in records] for topic, records in example.encoded().items()}
    app = application(example.topology)
    with app:
        app.feed(inputs)
        assert app.streams is not None
        content = dict(app.streams.store(example.store).all())
    written = flat(read_committed(broker.bootstrap_servers, example.output))
    found = example.decoded((r.key or b"", r.value or b"", r.timestamp) for r in written)
    assert found == example.expected
    # The time of other tasks stands earlier, so that they may keep what one task for all would have dropped.
    assert example.content.items() <= content.items()
