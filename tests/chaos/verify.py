"""Whether what a killed application wrote and keeps is what the test drivers make of the same input."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace

from semantics.replay import rows_of_store

from headrace.app.reading import StoreReaders
from headrace.config import StreamsConfig
from headrace.restore.rebuild import rebuild
from headrace.restore.recorded import recorded
from tests.chaos.subject import Subject
from tests.parity.compare import rows_of, same_records, same_tables
from tests.spark.harness import Rec

ReadTopic = Callable[[str], dict[int, list[Rec]]]


def check_output(subject: Subject, read: ReadTopic, where: str) -> int:
    """Every record once, and in the order of its partition; how many there are."""
    count = 0
    for topic in subject.kind.outputs:
        expected = subject.tasks.output.get(topic, [])
        same = same_tables if topic in subject.kind.last_only else same_records
        same(expected, read(topic), f"{where}: topic `{topic}`")
        count += len(expected)
    return count


def check_stores(subject: Subject, where: str) -> int:
    """The local stores of a stopped application, and others made from its changelogs alone, hold what the test drivers'
    stores hold; how many rows there are.
    """
    if not subject.kind.stores:
        return 0
    check = _check_stores(subject, subject.config, f"{where}: local")
    elsewhere = replace(subject.config, state_dir=str(subject.folder / f"elsewhere-{uuid.uuid4().hex[:8]}"))
    known = recorded(subject.kind.topology, elsewhere, subject.log)
    for task in known.tasks():
        rebuild(known, task, elsewhere.state_path, lambda event: None)
    return check + _check_stores(subject, elsewhere, f"{where}: rebuilt")


def _check_stores(subject: Subject, config: StreamsConfig, where: str) -> int:
    readers = StoreReaders(subject.kind.topology, subject.layout, config)
    count = 0
    try:
        readers.renew()
        for store, kind in subject.kind.stores.items():
            expected = rows_of([rows_of_store(one, kind, []) for one in subject.tasks.store(store)], kind)
            found = rows_of([rows_of_store(readers.store(store), kind, [])], kind, queried=True)
            assert found == expected, f"{where} store `{store}`"
            count += len(expected)
    finally:
        readers.close()
    return count
