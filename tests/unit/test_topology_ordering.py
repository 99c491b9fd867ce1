"""The orders of Java's collections, on which the text of `describe()` depends."""

from __future__ import annotations

import random

from headrace.topology.ordering import SearchTree, hash_order, string_hash


def test_hashes_are_those_of_java() -> None:
    assert string_hash("") == 0
    assert string_hash("a") == 97
    assert string_hash("polygenelubricants") == 0x80000000


def test_a_tree_that_is_filled_in_any_order_gives_a_sorted_sequence() -> None:
    rng = random.Random(1)
    for _ in range(50):
        numbers = rng.sample(range(1000), 60)
        tree: SearchTree[int] = SearchTree(lambda one, other: one < other)
        for number in numbers:
            tree.add(number)
        assert list(tree) == sorted(numbers)


def test_a_tree_keeps_the_order_that_its_items_had_when_they_came() -> None:
    sizes = {"a": 1, "b": 2}
    tree: SearchTree[str] = SearchTree(lambda one, other: sizes[one] < sizes[other])
    tree.add("a")
    tree.add("b")
    sizes["a"] = 9
    assert list(tree) == ["a", "b"]


TOPICS = "orders payments shipments refunds customers products stock prices carts visits clicks reviews"
GROWN = "visits carts reviews payments clicks orders customers stock prices shipments refunds products"
COPIED = "payments shipments refunds products visits carts reviews clicks orders customers stock prices"


def test_a_set_grows_when_it_is_filled_and_is_sized_at_once_when_it_is_copied() -> None:
    assert hash_order(TOPICS.split()) == GROWN.split()
    assert hash_order(TOPICS.split(), copied=True) == COPIED.split()
