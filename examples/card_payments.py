"""What goes beyond Kafka Streams in one pipeline: payments once, rated by a service, with logins that are forgotten,
and final counts that do not wait for the next payment.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from headrace import EmitStrategy, Materialized, StreamsBuilder, TimeWindows


@dataclass
class Payment:
    id: str
    amount: float


@dataclass
class RatedPayment:
    id: str
    amount: float
    risk: int


@dataclass
class CheckedPayment:
    id: str
    risk: int
    device: str | None


def payment_id(account: str, payment: Payment) -> str:
    return payment.id


async def rate(payment: Payment) -> RatedPayment:
    """Stands for a question to another service: many are under way at once."""
    await asyncio.sleep(0.001)
    return RatedPayment(payment.id, payment.amount, risk=min(99, int(payment.amount / 10)))


def with_device(payment: RatedPayment, device: str | None) -> CheckedPayment:
    return CheckedPayment(payment.id, payment.risk, device)


builder = StreamsBuilder()
logins = builder.table("logins", value=str, store=Materialized("active-logins", ttl=timedelta(minutes=30)))
rated = (
    builder.stream("payments", value=Payment)
    .deduplicate(within=timedelta(hours=1), id=payment_id, per_key=True, store="seen-payments")
    .map_values_async(rate, concurrency=32, timeout=timedelta(seconds=5))
)
rated.left_join(logins, join=with_device).to("checked-payments", value=CheckedPayment)
(
    rated.group_by_key()
    .windowed_by(TimeWindows(timedelta(minutes=5), grace=timedelta(seconds=30)))
    .emit_strategy(EmitStrategy.on_window_close(idle=timedelta(minutes=2)))
    # Kept for longer than a window needs: otherwise the first payment after a long silence pushes the result out.
    .count(store=Materialized("payments-per-window", retention=timedelta(days=1)))
    .to_stream()
    .map(lambda window, count: (window.key, count), key=str, value=int)
    .to("payment-counts", value=int)
)
topology = builder.build()


if __name__ == "__main__":
    # Here and not above, because it brings Spark, which a test of the topology does not need.
    from headrace import Streams

    with Streams(topology, application_id="card-payments") as streams:
        streams.wait()
