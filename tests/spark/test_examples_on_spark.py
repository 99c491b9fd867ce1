"""The examples on Spark with the embedded log give what they give in the test driver."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from examples_data import EXAMPLES, Example

from tests.spark.harness import Application, Rec, flat


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_writes_what_is_expected(
    example: Example, application: Callable[..., Application]
) -> None:
    app = application(example.topology, application_id=example.name)
    inputs = {topic: [Rec(*record) for record in records] for topic, records in example.encoded().items()}
    with app:
        app.feed(inputs)
        written = flat(app.read(example.output))
        assert app.streams is not None
        content = dict(app.streams.store(example.store).all())
    found = example.decoded((r.key or b"", r.value or b"", r.timestamp) for r in written)
    assert found == example.expected
    # The time of other tasks stands earlier, so that they may keep what one task for all would have dropped.
    assert example.content.items() <= content.items()
