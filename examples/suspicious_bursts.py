"""Real-time fraud detection by user in windows of five minutes: many transactions, much money, or many places at once.

The state of a window is bounded by the window itself, and a minute of grace lets phones in that were offline.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from headrace import StreamsBuilder, TimeWindows, Windowed


@dataclass
class Transaction:
    """Its key is the user."""

    amount: float
    location: str


@dataclass
class FraudState:
    """What happened in one window."""

    amounts: list[float] = field(default_factory=list)
    locations: list[str] = field(default_factory=list)

    def is_suspicious(self) -> bool:
        return len(self.amounts) >= 5 or sum(self.amounts) > 10_000 or len(self.locations) >= 3


@dataclass
class Alert:
    user_id: str
    since: int
    transactions: int
    total: float
    locations: list[str]


def add(user_id: str, transaction: Transaction, state: FraudState) -> FraudState:
    return FraudState([*state.amounts, transaction.amount], sorted({*state.locations, transaction.location}))


def alert(window: Windowed[str], state: FraudState) -> tuple[str, Alert]:
    return window.key, Alert(
        window.key, window.start, len(state.amounts), sum(state.amounts), state.locations
    )


builder = StreamsBuilder()
(
    builder.stream("transactions", value=Transaction)
    .group_by_key()
    .windowed_by(TimeWindows(timedelta(minutes=5), grace=timedelta(minutes=1)))
    .aggregate(FraudState, add, value=FraudState, store="fraud-store")
    .to_stream()
    .filter(lambda _, state: state.is_suspicious(), name="suspicious")
    .map(alert, name="alert")
    .to("fraud-alerts", value=Alert)
)
topology = builder.build()


if __name__ == "__main__":
    # Here and not above, because it brings Spark, which a test of the topology does not need.
    from headrace import Streams

    with Streams(topology, application_id="suspicious-bursts") as streams:
        streams.wait()
