"""A processor with a store of its own, for what the DSL has no word for: a running total per key."""

from __future__ import annotations

from headrace import Processor, ProcessorContext, Record, StreamsBuilder, key_value_store

STORE = "my-state-store"


class RunningTotal(Processor[str, int, str, int]):
    """Adds what comes in, and sends the sum on."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context = context
        # Once, not for each record.
        self.store = context.get_state_store(STORE)

    def process(self, record: Record[str, int]) -> None:
        total = (self.store.get(record.key) or 0) + record.value
        self.store.put(record.key, total)
        self.context.forward(record.with_value(total))


builder = StreamsBuilder()
builder.add_state_store(key_value_store(STORE, key=str, value=int))
(
    builder.stream("amounts", value=int)
    .process(RunningTotal, stores=[STORE], name="running-total")
    .to("totals", value=int)
)
topology = builder.build()


if __name__ == "__main__":
    # Here and not above, because it brings Spark, which a test of the topology does not need.
    from headrace import Streams

    with Streams(topology, application_id="running-total") as streams:
        streams.wait()
