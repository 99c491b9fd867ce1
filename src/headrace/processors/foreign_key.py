"""Foreign-key joins: rows of one table ask for rows of another, which may be in another task, and are answered.

Requests and answers are on their way for a while, so an answer carries the hash of the row that has asked: when that
row has changed since, a later answer is on its way, and this one is dropped.
"""

from __future__ import annotations

from typing import Any

from headrace.murmur3 import hash128
from headrace.processors.context import NodeContext, Process
from headrace.processors.registry import implements
from headrace.processors.versions import skip_late
from headrace.processors.views import lookup
from headrace.record import Headers
from headrace.serdes.foreign_key import (
    SUBSCRIBE,
    SUBSCRIBE_AND_ANSWER,
    UNSUBSCRIBE,
    UNSUBSCRIBE_AND_ANSWER,
    Answer,
    Subscription,
    store_prefix,
)
from headrace.topology.foreign_key import (
    AnswerSubscribers,
    AnswerSubscription,
    JoinAnswer,
    KeepSubscription,
    Subscribe,
)


@implements(Subscribe)
def subscribe(operator: Subscribe, ctx: NodeContext) -> Process:
    """An inner join says nothing about rows without a foreign key, unless they had one, and asks for no answer where
    there can have been no result. A left join always asks, with a null key if need be.

    Answers to a batch come with the next one, and only those count that are about a row's last state. So what a row
    needs to be told is decided by the foreign key that it had before the batch, not before the change at hand. The test
    driver has no batches: there it is as in Kafka Streams.
    """
    extract, always = operator.extractor, operator.always
    encode_key, encode = ctx.key_serde(operator.key).serialize, ctx.value_serde(operator.value).serialize
    encode_primary_key = ctx.key_serde(operator.primary_key).serialize
    forward, failed, drop, partition = ctx.forward, ctx.failed, ctx.drop, ctx.task.task_id.partition
    before_batch: dict[bytes, Any] | None = None

    def begin() -> None:
        nonlocal before_batch
        before_batch = {}

    ctx.at_batch(begin)

    def instructions(key: Any, new: Any, old: Any) -> list[tuple[Any, int]]:
        before = None if old is None else extract(key, old)
        after = None if new is None else extract(key, new)
        raw = None if after is None else encode_key(after)
        moved = before is not None and encode_key(before) != raw
        if always:
            asks = [] if new is None and old is None else [(after, SUBSCRIBE_AND_ANSWER)]
            return [(before, UNSUBSCRIBE), *asks] if moved else asks
        first = before
        if before_batch is not None:
            first = before_batch.setdefault(encode_primary_key(key), before)
        if after is None:
            if new is not None:
                drop("null foreign key")
            leaves = before if moved else first
            return [] if leaves is None else [(leaves, UNSUBSCRIBE_AND_ANSWER)]
        if moved:
            return [(before, UNSUBSCRIBE), (after, SUBSCRIBE_AND_ANSWER)]
        came = first is not None and encode_key(first) != raw
        return [(after, SUBSCRIBE_AND_ANSWER if came else SUBSCRIBE)]

    def process(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
        new, old, _ = change
        try:
            found = instructions(key, new, old)
            row = None if new is None or not found else hash128(encode(new))
        except Exception as error:
            failed(error, timestamp, headers)
            return
        for foreign_key, instruction in found:
            forward(foreign_key, Subscription(row, instruction, key, partition), timestamp, headers)

    return skip_late(process) if operator.versioned else process


@implements(KeepSubscription)
def keep_subscription(operator: KeepSubscription, ctx: NodeContext) -> Process:
    """A row without a foreign key is answered, but there is nothing to remember."""
    put, forward, failed, drop = ctx.store(operator.store).put_raw, ctx.forward, ctx.failed, ctx.drop
    encode_key = ctx.key_serde(operator.key).serialize
    encode_primary_key = ctx.key_serde(operator.primary_key).serialize

    def process(key: Any, subscription: Any, timestamp: int, headers: Headers) -> None:
        instruction = subscription.instruction
        if key is not None:
            try:
                raw_key = store_prefix(encode_key(key)) + encode_primary_key(subscription.key)
                kept = None if instruction in (UNSUBSCRIBE, UNSUBSCRIBE_AND_ANSWER) else subscription
                put(raw_key, kept, timestamp)
            except Exception as error:
                failed(error, timestamp, headers)
                return
        elif instruction != SUBSCRIBE_AND_ANSWER:
            drop("null foreign key")
            return
        forward(key, subscription, timestamp, headers)

    return process


@implements(AnswerSubscription)
def answer_subscription(operator: AnswerSubscription, ctx: NodeContext) -> Process:
    """The answer has the time of the later of the two rows."""
    row_of = lookup(operator.table, ctx)
    forward, failed = ctx.forward, ctx.failed

    def process(key: Any, subscription: Any, timestamp: int, headers: Headers) -> None:
        row, instruction, primary_key, partition = subscription
        if instruction == UNSUBSCRIBE:
            return
        try:
            found = None if key is None else row_of(key)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        value = None
        if found is not None:
            value, time = found
            timestamp = max(timestamp, time)
            if instruction == UNSUBSCRIBE_AND_ANSWER:
                value = None
        elif instruction == SUBSCRIBE:
            return
        forward(primary_key, Answer(row, value, partition), timestamp, headers)

    return process


@implements(AnswerSubscribers)
def answer_subscribers(operator: AnswerSubscribers, ctx: NodeContext) -> Process:
    """In the order of their keys' bytes; the answers have the time of the change."""
    subscribers, encode_key = ctx.store(operator.store).prefix_scan, ctx.key_serde(operator.key).serialize
    forward, failed, drop = ctx.forward, ctx.failed, ctx.drop

    def process(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
        if key is None:
            drop("null key")
            return
        try:
            found = [subscription for _, (subscription, _) in subscribers(store_prefix(encode_key(key)))]
        except Exception as error:
            failed(error, timestamp, headers)
            return
        for row, _, primary_key, partition in found:
            forward(primary_key, Answer(row, change[0], partition), timestamp, headers)

    return skip_late(process) if operator.versioned else process


@implements(JoinAnswer)
def join_answer(operator: JoinAnswer, ctx: NodeContext) -> Process:
    """Without a row on the right an inner join has no result; neither has any join without a row on the left."""
    joiner, left, with_key = operator.joiner, operator.left, operator.with_key
    row_of, encode = lookup(operator.table, ctx), ctx.value_serde(operator.value).serialize
    forward, failed, drop = ctx.forward, ctx.failed, ctx.drop

    def process(key: Any, answer: Any, timestamp: int, headers: Headers) -> None:
        asked, other, _ = answer
        try:
            found = row_of(key)
            if asked != (None if found is None else hash128(encode(found[0]))):
                drop("the row has changed since it asked")
                return
            result = None
            if other is not None or (left and found is not None):
                row = None if found is None else found[0]
                result = joiner(key, row, other) if with_key else joiner(row, other)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, result, timestamp, headers)

    return process
