"""The names that `import headrace` offers: taking one away, or adding one, must be meant."""

from __future__ import annotations

import subprocess
import sys

import pytest

import headrace

NAMES = """
Admin Consumer ConsumerRecord Producer
BranchedKStream BufferConfig Change CogroupedKStream EmitStrategy ErrorContext GlobalKTable HeadraceError JoinWindows
KGroupedStream KGroupedTable KStream KTable Materialized Processor ProcessorContext PunctuationType Record
RecordMetadata Response Serde Serdes SessionWindowedCogroupedKStream SessionWindowedKStream SessionWindows
SlidingWindows StateStore StateStoreContext StoreSpec Streams StreamsBuilder StreamsConfig Suppressed TaskId
TimeWindowedCogroupedKStream TimeWindowedKStream TimeWindows Topology UnlimitedWindows ValueTransformer Windowed
custom_store key_value_store log_and_continue log_and_fail session_store versioned_key_value_store window_store
Answer DeadLetter dead_letter fail_on_invalid_timestamp field_timestamp log_and_skip_on_invalid_timestamp
use_partition_time_on_invalid_timestamp wallclock_timestamp State StreamThreadExceptionResponse
spark_settings
"""


def test_the_exported_names_are_locked() -> None:
    assert sorted(NAMES.split()) == headrace.__all__


def test_every_exported_name_is_there() -> None:
    assert all(getattr(headrace, name) is not None for name in headrace.__all__)


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="KStreams"):
        headrace.KStreams  # noqa: B018


def test_importing_headrace_starts_nothing_heavy() -> None:
    code = (
        "import headrace, headrace.testing, sys; "
        "print([name for name in ('pyspark', 'pyarrow', 'pandas', 'confluent_kafka', 'headrace.app') "
        "if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
