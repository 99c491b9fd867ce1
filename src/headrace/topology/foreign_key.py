"""The five operators that a foreign-key join is made of, in the order in which a subscription passes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.serdes.base import Serde
from headrace.topology.operators import Operator
from headrace.topology.views import TableView


@dataclass(frozen=True, slots=True)
class Subscribe(Operator):
    """Beside the left table: each change of a row becomes subscriptions under its foreign keys, old and new.

    `key` writes the foreign key, `value` and `primary_key` the row that asks; None means the configuration's default.
    `always`: ask for every state that a row gets into, even if no result can come of it, as a left join has to.
    """

    extractor: Callable[[Any, Any], Any]
    always: bool
    key: Serde[Any] | None
    value: Serde[Any] | None
    primary_key: Serde[Any] | None
    versioned: bool = False
    """The rows come from a versioned table: a change out of order says nothing about them."""


@dataclass(frozen=True, slots=True)
class KeepSubscription(Operator):
    """Beside the right table: remembers who has asked for which row.

    `key` and `primary_key` as in `Subscribe`.
    """

    store: str
    key: Serde[Any] | None
    primary_key: Serde[Any] | None


@dataclass(frozen=True, slots=True)
class AnswerSubscription(Operator):
    """Beside the right table: answers a new subscription with the row as it is now."""

    table: TableView


@dataclass(frozen=True, slots=True)
class AnswerSubscribers(Operator):
    """Beside the right table: tells a changed row to all who have asked for it.

    `key` and `versioned` as in `Subscribe`.
    """

    store: str
    key: Serde[Any] | None
    versioned: bool = False


@dataclass(frozen=True, slots=True)
class JoinAnswer(Operator):
    """Beside the left table: joins an answer with the row that has asked, if the row is still the same.

    `value` as in `Subscribe`.
    """

    table: TableView
    joiner: Callable[..., Any]
    left: bool
    value: Serde[Any] | None
    with_key: bool = False
