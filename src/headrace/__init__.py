"""Headrace: Kafka Streams for Python, on Spark.

Build a topology with `StreamsBuilder` (or by hand with `Topology`), test it with `headrace.testing`, and run it
with `Streams` or the `headrace` command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.config import StreamsConfig
from headrace.dsl.branched import BranchedKStream
from headrace.dsl.builder import StreamsBuilder
from headrace.dsl.cogrouped import (
    CogroupedKStream,
    SessionWindowedCogroupedKStream,
    TimeWindowedCogroupedKStream,
)
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.grouped import KGroupedStream
from headrace.dsl.grouped_table import KGroupedTable
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import Materialized
from headrace.dsl.windowed import SessionWindowedKStream, TimeWindowedKStream
from headrace.errors import HeadraceError
from headrace.handlers import (
    Answer,
    DeadLetter,
    ErrorContext,
    Response,
    dead_letter,
    log_and_continue,
    log_and_fail,
)
from headrace.processor import Processor, ProcessorContext, PunctuationType, ValueTransformer
from headrace.record import Change, Record, RecordMetadata, TaskId, Windowed
from headrace.serdes import Serde, Serdes
from headrace.store import StateStore, StateStoreContext
from headrace.suppressed import BufferConfig, Suppressed
from headrace.timestamps import (
    fail_on_invalid_timestamp,
    field_timestamp,
    log_and_skip_on_invalid_timestamp,
    use_partition_time_on_invalid_timestamp,
    wallclock_timestamp,
)
from headrace.topology.stores import StoreSpec, custom_store, key_value_store, session_store, window_store
from headrace.topology.topology import Topology
from headrace.topology.versioned import versioned_key_value_store
from headrace.uncaught import StreamThreadExceptionResponse
from headrace.windows import (
    EmitStrategy,
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)

if TYPE_CHECKING:
    from headrace.app import State, Streams, spark_settings
    from headrace.clients import Admin, Consumer, ConsumerRecord, Producer

__all__ = [
    "Admin",
    "Answer",
    "BranchedKStream",
    "BufferConfig",
    "Change",
    "CogroupedKStream",
    "Consumer",
    "ConsumerRecord",
    "DeadLetter",
    "EmitStrategy",
    "ErrorContext",
    "GlobalKTable",
    "HeadraceError",
    "JoinWindows",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "Materialized",
    "Processor",
    "ProcessorContext",
    "Producer",
    "PunctuationType",
    "Record",
    "RecordMetadata",
    "Response",
    "Serde",
    "Serdes",
    "SessionWindowedCogroupedKStream",
    "SessionWindowedKStream",
    "SessionWindows",
    "SlidingWindows",
    "State",
    "StateStore",
    "StateStoreContext",
    "StoreSpec",
    "StreamThreadExceptionResponse",
    "Streams",
    "StreamsBuilder",
    "StreamsConfig",
    "Suppressed",
    "TaskId",
    "TimeWindowedCogroupedKStream",
    "TimeWindowedKStream",
    "TimeWindows",
    "Topology",
    "UnlimitedWindows",
    "ValueTransformer",
    "Windowed",
    "custom_store",
    "dead_letter",
    "fail_on_invalid_timestamp",
    "field_timestamp",
    "key_value_store",
    "log_and_continue",
    "log_and_fail",
    "log_and_skip_on_invalid_timestamp",
    "session_store",
    "spark_settings",
    "use_partition_time_on_invalid_timestamp",
    "versioned_key_value_store",
    "wallclock_timestamp",
    "window_store",
]


def __getattr__(name: str) -> Any:
    # Running an application pulls in Spark, and a log pulls in Arrow; building and testing a topology must not wait
    # for that.
    if name in ("State", "Streams", "spark_settings"):
        from headrace import app

        return getattr(app, name)
    if name in ("Admin", "Consumer", "ConsumerRecord", "Producer"):
        from headrace import clients

        return getattr(clients, name)
    raise AttributeError(f"module `headrace` has no attribute `{name}`")
