"""Which host the tasks of a slot call their home."""

from __future__ import annotations

from headrace.spark.anchors import last_hosts, place_slots
from headrace.spark.commit import TaskCommit


def commits(**hosts: str) -> dict[str, TaskCommit]:
    return {task.removeprefix("t"): TaskCommit(7, "x", host) for task, host in hosts.items()}


def test_slots_are_spread_over_the_executors() -> None:
    assert place_slots(4, {"a": 1, "b": 1}, [None] * 4).count("a") == 2
    assert sorted(map(str, place_slots(6, {"a": 2, "b": 1}, [None] * 6))) == ["a"] * 4 + ["b"] * 2


def test_a_slot_stays_where_its_stores_are() -> None:
    assert place_slots(4, {"a": 1, "b": 1}, ["b", "a", "a", "b"]) == ["b", "a", "a", "b"]


def test_a_new_host_gets_its_share_and_no_more_moves_than_that() -> None:
    placed = place_slots(6, {"a": 1, "b": 1, "c": 1}, ["a", "a", "a", "b", "b", "b"])
    assert placed == ["a", "a", "c", "b", "b", "c"]


def test_only_the_slots_of_a_host_that_is_gone_move() -> None:
    assert place_slots(4, {"a": 1, "c": 1}, ["a", "b", "a", "b"]) == ["a", "c", "a", "c"]


def test_without_executors_nothing_changes() -> None:
    assert place_slots(2, {}, ["a", None]) == ["a", None]


def test_the_last_commit_says_where_stores_are() -> None:
    assert last_hosts(2, commits(t0_0="a", t1_0="a", t0_2="b", t0_1="b", t0_3="b")) == ["a", "b"]


def test_commits_of_one_host_say_nothing() -> None:
    assert last_hosts(2, {"0_0": TaskCommit(7, "x")}) == [None, None]
