"""Every read of every kind of store, asked by processors while the topology is at work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from semantics.scenarios.common import ms, text

from headrace import (
    Processor,
    Record,
    StreamsBuilder,
    Windowed,
    key_value_store,
    session_store,
    window_store,
)


def rows(found: Iterable[tuple[Any, Any]]) -> str:
    return ",".join(f"{_key(key)}={text(value)}" for key, value in found)


def _key(key: Any) -> str:
    return f"{key.key}{key.start}-{key.end}" if isinstance(key, Windowed) else str(key)


class Asking(Processor[Any, Any, Any, Any], ABC):
    """Puts each record and answers with what it then reads."""

    @abstractmethod
    def answer(self, store: Any, key: str, value: str | None, time: int) -> list[str]:
        """What was done, and what each read then gives."""

    def process(self, record: Record[Any, Any]) -> None:
        if record.key is not None:
            store = self.context.get_state_store("store")
            answer = self.answer(store, record.key, record.value, record.timestamp)
            self.context.forward(record.with_value(" | ".join(answer)))


class KeyValues(Asking):
    def answer(self, store: Any, key: str, value: str | None, time: int) -> list[str]:
        place = key if value is None else key + value[0]
        if value is None:
            done = f"deleted {text(store.delete(f'{key}a'))}"
        elif value[1] == "0":
            store.put_all([(f"{key}x", value), (f"{key}y", None), ("AA", value)])
            done = "all"
        elif value[1] == "1":
            done = f"absent {text(store.put_if_absent(place, value))}"
        else:
            store.put(place, value)
            done = "put"
        return [
            done,
            text(store.get(place)),
            rows(store.range("Aa", "Bx")),
            rows(store.reverse_range("B", None)),
            rows(store.range(None, "B")),
            rows(store.all()),
            rows(store.reverse_all()),
            rows(store.prefix_scan(key)),
        ]


class Windows(Asking):
    def answer(self, store: Any, key: str, value: str | None, time: int) -> list[str]:
        store.put(key, value, time)
        between = time - 50, time + 50
        return [
            rows(store.fetch(key, *between)),
            rows(store.backward_fetch(key, *between)),
            rows(store.fetch_range("A", "B", *between)),
            rows(store.backward_fetch_range("A", "B", *between)),
            rows(store.fetch_range(None, "B", *between)),
            rows(store.fetch_range("B", None, *between)),
            rows(store.fetch_all(*between)),
            rows(store.backward_fetch_all(*between)),
            rows(store.all()),
            rows(store.backward_all()),
        ]


class Sessions(Asking):
    def answer(self, store: Any, key: str, value: str | None, time: int) -> list[str]:
        end = time + (0 if value is None else 10 * int(value[1]))
        session = Windowed(key, time, end)
        if value is not None and value[0] == "x":
            store.remove(session)
        else:
            store.put(session, value)
        between = time - 40, time + 40
        return [
            rows(store.find_sessions(key, *between)),
            rows(store.backward_find_sessions(key, *between)),
            rows(store.find_sessions_range("A", "B", *between)),
            rows(store.backward_find_sessions_range("A", "B", *between)),
            text(store.fetch_session(key, time, end)),
            rows(store.fetch(key)),
            rows(store.backward_fetch(key)),
            rows(store.fetch_range("A", "B")),
            rows(store.backward_fetch_range("B", None)),
        ]


def reads_key_value(builder: StreamsBuilder) -> None:
    builder.add_state_store(key_value_store("store", key=str, value=str))
    builder.stream("in", value=str).process(KeyValues, stores=["store"]).to("out")


def reads_window(builder: StreamsBuilder) -> None:
    builder.add_state_store(window_store("store", size=ms(20), retention=ms(120), key=str, value=str))
    builder.stream("in", value=str).process(Windows, stores=["store"]).to("out")


def reads_session(builder: StreamsBuilder) -> None:
    builder.add_state_store(session_store("store", retention=ms(120), key=str, value=str))
    builder.stream("in", value=str).process(Sessions, stores=["store"]).to("out")


SCENARIOS = {function.__name__: function for function in (reads_key_value, reads_window, reads_session)}
