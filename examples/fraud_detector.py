"""Raise an alert when a user makes three large transactions at high risk within one session.

Transactions get their user's risk score from a global table; those that look dangerous are counted per user in
sessions that end after five quiet minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headrace import SessionWindows, StreamsBuilder


@dataclass
class Transaction:
    """What a shop reports."""

    user_id: str
    amount: float


@dataclass
class Scored:
    """A transaction with its user's risk, 0 to 100."""

    user_id: str
    amount: float
    risk: int


@dataclass
class Alert:
    """So many dangerous transactions since then."""

    user_id: str
    count: int
    since: int


def score(transaction: Transaction, risk: int | None) -> Scored:
    return Scored(transaction.user_id, transaction.amount, risk or 0)


builder = StreamsBuilder()
risk_scores = builder.global_table("risk-scores", value=int, store="global-risk-store")
(
    builder.stream("transactions", value=Transaction)
    .left_join(risk_scores, on=lambda _, transaction: transaction.user_id, join=score, value=Scored)
    .filter(lambda _, scored: scored.amount > 1000 and scored.risk > 70)
    .group_by(lambda _, scored: scored.user_id)
    .windowed_by(SessionWindows(gap=timedelta(minutes=5), grace=timedelta(seconds=30)))
    .count(store="session-count-store")
    .to_stream()
    # A session that grows is first deleted, which shows here as None.
    .filter(lambda _, count: count is not None and count >= 3)
    .map(lambda window, count: (window.key, Alert(window.key, count, window.start)))
    .to("fraud-alerts", value=Alert)
)
topology = builder.build()


if __name__ == "__main__":
    # Here and not above, because it brings Spark, which a test of the topology does not need.
    from headrace import Streams

    with Streams(topology, application_id="fraud-detector") as streams:
        streams.wait()
