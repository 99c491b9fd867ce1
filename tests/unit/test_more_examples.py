"""Every other example in the test driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import examples_inputs as inputs
import pytest
from examples_data import EXAMPLES

from examples import customer_order_counts
from examples.card_payments import CheckedPayment
from examples.high_value_orders import HighValueOrder
from examples.order_enrichment import CustomersOrder, OrderedProduct, PaidOrder
from examples.order_pipeline import ProcessedOrder, RawOrder, RefusedOrder
from examples.order_summary import OrderSummary
from examples.suspicious_bursts import Alert
from headrace import StreamsConfig
from headrace.testing import TopologyTestDriver


@contextmanager
def run(name: str) -> Iterator[TopologyTestDriver]:
    module, records = inputs.MORE_EXAMPLES[name]
    with TopologyTestDriver(module.topology, StreamsConfig(application_id=name.replace("_", "-"))) as driver:
        for topic, key, value, timestamp in records:
            driver.input(topic).pipe(key, value, timestamp=timestamp)
        yield driver


def test_every_example_has_a_test() -> None:
    files = {path.stem for path in Path("examples").glob("*.py")} - {
        "__init__",
        "demo",
        "demo_crash",
        "demo_shop",
    }
    assert files == {*inputs.MORE_EXAMPLES, *(example.name for example in EXAMPLES)}


def test_payments_are_checked_once_and_counted_when_nothing_comes_any_more() -> None:
    with run("card_payments") as driver:
        assert driver.output("checked-payments").read_values() == [
            CheckedPayment("p1", 5, "phone"),
            CheckedPayment("p2", 70, "phone"),
            CheckedPayment("p3", 2, None),
        ]
        assert driver.store("active-logins").get("ann") is None
        counts = driver.output("payment-counts")
        assert counts.read_key_values() == [("ann", 2)]
        driver.advance_wall_clock_time(timedelta(minutes=4, seconds=29))
        assert counts.is_empty()
        driver.advance_wall_clock_time(timedelta(seconds=1))
        assert counts.read_key_values() == [("ann", 1)]


def test_only_orders_of_1000_and_more_pass() -> None:
    with run("high_value_orders") as driver:
        assert driver.output("orders.high-value.v1").read_key_values() == [
            ("o2", HighValueOrder("bob", 1000.0)),
            ("o3", HighValueOrder("alice", 2500.0)),
        ]
        assert driver.produced_topic_names() == {"orders.high-value.v1"}
        assert not driver.get_all_state_stores()


def test_orders_are_counted_by_customer_and_the_internal_topics_are_those_that_it_documents() -> None:
    with run("customer_order_counts") as driver:
        internal = driver.produced_topic_names() - {"customer-order-counts.v1"}
        counts = driver.output("customer-order-counts.v1").read_key_values()
        assert driver.store("order-count-by-customer").get("alice") == 2
    assert counts == [("alice", 1), ("bob", 1), ("alice", 2)]
    documented = (customer_order_counts.__doc__ or "").split()
    assert {word for word in documented if word.startswith("customer-order-counts-")} == internal


def test_orders_find_their_customer_their_product_and_their_payment() -> None:
    with run("order_enrichment") as driver:
        # Bob is in no table. Alice's second order sees what she has become.
        assert driver.output("orders-with-customers").read_key_values() == [
            ("alice", CustomersOrder("o1", "Alice", "gold", 40.0)),
            ("alice", CustomersOrder("o3", "Alice", "platinum", 20.0)),
        ]
        assert driver.output("orders-with-products").read_key_values() == [
            ("o1", OrderedProduct("o1", "kettle", 2.0)),
            ("o2", OrderedProduct("o2", None, 0)),
            ("o3", OrderedProduct("o3", "kettle", 1.0)),
        ]
        # The third was paid 31 seconds later.
        assert driver.output("paid-orders").read_key_values() == [
            ("o2", PaidOrder("o2", 999, in_full=False)),
            ("o1", PaidOrder("o1", 4000, in_full=True)),
        ]


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("tumbling-counts", {"ann@0-5": 2, "ann@5-10": 1, "ann@20-25": 1}),
        ("hopping-counts", {"ann@0-10": 3, "ann@5-15": 1, "ann@15-25": 1, "ann@20-30": 1}),
        ("session-counts", {"ann@1-1": 1, "ann@1-4": 2, "ann@1-7": 3, "ann@20-20": 1}),
    ],
)
def test_the_same_events_in_different_windows(topic: str, expected: dict[str, int]) -> None:
    with run("four_windows") as driver:
        assert driver.output(topic).read_key_values_to_map() == expected


def test_sliding_windows_hold_what_is_close_together() -> None:
    with run("four_windows") as driver:
        found = driver.output("sliding-counts").read_key_values_to_map()
    # At 7 minutes the event of minute 4 is near enough, that of minute 1 is not.
    assert found["ann@2-7"] == 2
    assert found["ann@15-20"] == 1


def test_a_processor_keeps_a_running_total() -> None:
    with run("running_total") as driver:
        assert driver.output("totals").read_key_values() == [("a", 5), ("b", 1), ("a", 3)]
        assert dict(driver.store("my-state-store").all()) == {"a": 3, "b": 1}


def test_a_store_by_hand_keeps_the_last_three_prices_over_a_restart() -> None:
    with run("custom_store") as driver:
        driver.restart()
        driver.input("prices").pipe("kettle", 40.0)
        assert driver.output("average-prices").read_key_values() == [
            ("kettle", 20.0),
            ("kettle", 21.0),
            ("kettle", 22.0),
            ("kettle", 26.0),
            ("mug", 5.0),
            ("kettle", 32.0),
        ]


def test_a_summary_and_the_revenue_of_each_customer() -> None:
    with run("order_summary") as driver:
        assert driver.output("order-summaries").read_values() == [
            OrderSummary(1, 10.0, "o1", 10.0),
            OrderSummary(2, 40.0, "o2", 30.0),
            OrderSummary(3, 60.0, "o2", 30.0),
        ]
        assert driver.output("revenue").read_values() == [10.0, 40.0, 60.0]


def test_bursts_of_transactions_money_or_places_raise_an_alert() -> None:
    with run("suspicious_bursts") as driver:
        assert driver.output("fraud-alerts").read_key_values() == [
            ("eve", Alert("eve", 0, 5, 50.0, ["Rome"])),
            ("sam", Alert("sam", 0, 2, 11_000.0, ["Oslo"])),
            ("kim", Alert("kim", 0, 2, 11_000.0, ["Kyiv", "Lviv"])),
        ]


def test_orders_are_validated_enriched_and_routed() -> None:
    with run("order_pipeline") as driver:
        assert driver.produced_topic_names() == {
            "processed-orders-physical",
            "processed-orders-digital",
            "orders-refused",
        }
        physical = driver.output("processed-orders-physical", value=ProcessedOrder)
        assert physical.read_key_values() == [("o1", ProcessedOrder("kettle", 2, 40.0, "physical"))]
        digital = driver.output("processed-orders-digital", value=ProcessedOrder)
        assert digital.read_key_values() == [("o2", ProcessedOrder("song", 3, 3.0, "digital"))]
        assert driver.output("orders-refused").read_key_values() == [
            ("o3", RefusedOrder(RawOrder("p1", 0), "0 pieces"))
        ]
