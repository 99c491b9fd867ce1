"""The examples on Spark with the embedded log give what they give in the test driver."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from examples_data import EXAMPLES, Example
from examples_inputs import MORE_EXAMPLES

from headrace.serdes import serde_for
from tests.spark.harness import Application, Rec, by_key, flat, reference


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


@pytest.mark.parametrize("name", MORE_EXAMPLES)
def test_the_other_examples_write_what_they_write_in_the_test_driver(
    name: str, application: Callable[..., Application]
) -> None:
    module, records = MORE_EXAMPLES[name]
    part: dict[str, list[Rec]] = {}
    for topic, key, value, timestamp in records:
        data = serde_for(type(value)).serialize(value)
        part.setdefault(topic, []).append(Rec(key.encode(), data, timestamp))
    expected = reference(module.topology, [part]).outputs
    with application(module.topology, application_id=name, topics=dict.fromkeys(expected, 4)) as app:
        app.feed(part)
        found = {topic: by_key(flat(app.read(topic))) for topic in expected}
    assert found == {topic: by_key(records) for topic, records in expected.items()}
