"""How keys and values become bytes: Kafka's own formats, JSON, windowed keys."""

from __future__ import annotations

from headrace.serdes.base import Serde
from headrace.serdes.change import ChangeSerde
from headrace.serdes.explain import explain_read, explain_write
from headrace.serdes.json import JsonSerde
from headrace.serdes.kafka import Serdes
from headrace.serdes.lists import ListSerde
from headrace.serdes.lookup import resolve, serde_for
from headrace.serdes.tagged import TaggedSerde
from headrace.serdes.windowed import SessionWindowedSerde, TimeWindowedSerde, WindowedSerde, partition_bytes

__all__ = [
    "ChangeSerde",
    "JsonSerde",
    "ListSerde",
    "Serde",
    "Serdes",
    "SessionWindowedSerde",
    "TaggedSerde",
    "TimeWindowedSerde",
    "WindowedSerde",
    "explain_read",
    "explain_write",
    "partition_bytes",
    "resolve",
    "serde_for",
]
