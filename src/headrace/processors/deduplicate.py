"""Duplicates are dropped (ADR 0016)."""

from __future__ import annotations

from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.processors.registry import implements
from headrace.record import Headers
from headrace.serdes.identity import Passed
from headrace.topology.operators import Deduplicate


@implements(Deduplicate)
def deduplicate(operator: Deduplicate, ctx: NodeContext) -> Process:
    """A record is a duplicate when one with the same identity has passed whose timestamp is at most `within` away, in
    either direction. What was dropped does not count: of a steady repetition, one passes now and then.

    The store has a time to live, so that what can no longer be asked for is gone. A record without identity cannot be
    known to be a duplicate, and passes.
    """
    within, identity, per_key = operator.within_ms, operator.identity, operator.per_key
    store = ctx.store(operator.store)
    encode_key, get, put, ttl = store.encode_key, store.get_raw, store.put_raw, store.expiry.ttl
    forward, failed, drop = ctx.forward, ctx.failed, ctx.drop
    time = ctx.memory("stream-time", -1)

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if timestamp > time.value:
            time.value = timestamp
        try:
            known_by = key if identity is None else identity(key, value)
            if known_by is not None and not (per_key and key is None):
                raw, now = encode_key((key, known_by) if per_key else known_by), time.value
                found = get(raw)
                # A row lives as long as its last record is remembered; the others are forgotten one by one.
                passed = [] if found is None else [each for each in found[0] if each[1] >= now - ttl]
                for before, _ in passed:
                    if -within <= before - timestamp <= within:
                        drop("duplicate")
                        return
                passed.append(Passed(timestamp, now))
                put(raw, passed, now)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, value, timestamp, headers)

    return process
