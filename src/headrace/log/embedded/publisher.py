"""The one writer of an application on the embedded log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from headrace.errors import FencedError, LogError
from headrace.failpoints import failpoint
from headrace.log.arrow import to_batch
from headrace.log.base import Publication, TopicPartition
from headrace.log.commits import COMMIT_KEY, commits_topic
from headrace.log.embedded import catalog, writer
from headrace.log.embedded.catalog import Topic
from headrace.log.embedded.entries import decode, encode, entry_key
from headrace.log.embedded.environment import Environment, acquire, release
from headrace.log.embedded.lock import EpochLock
from headrace.log.embedded.upkeep import Upkeep


class Application(msgspec.Struct):
    """What the log knows of an application: who may write for it, and how far it has read."""

    epoch: int = 0
    positions: list[tuple[str, int, int]] = []


def read_application(txn: Any, environment: Environment, application_id: str) -> Application:
    """The stored state of an application, or that of one that never ran."""
    found = txn.get(application_id.encode(), db=environment.applications)
    return Application() if found is None else msgspec.json.decode(found, type=Application)


def read_positions(txn: Any, environment: Environment, application_id: str) -> Mapping[TopicPartition, int]:
    """The positions of the last publication."""
    stored = read_application(txn, environment, application_id).positions
    return {TopicPartition(topic, partition): offset for topic, partition, offset in stored}


def forget_positions(txn: Any, environment: Environment, application_id: str) -> None:
    """Take the positions away; the epoch stays."""
    if txn.get(application_id.encode(), db=environment.applications) is not None:
        epoch = read_application(txn, environment, application_id).epoch
        txn.put(application_id.encode(), msgspec.json.encode(Application(epoch)), db=environment.applications)


def read_commit(txn: Any, environment: Environment, application_id: str) -> bytes | None:
    """The newest commit record of an application; None before its first commit."""
    name = commits_topic(application_id)
    if txn.get(name.encode(), db=environment.topics) is None:
        return None
    topic = catalog.find(txn, environment, name)
    state = catalog.state(txn, environment, topic, 0)
    if state.end == 0:
        return None
    entry = txn.get(entry_key(topic.id, 0, state.end - 1), db=environment.entries)
    if entry is None:
        raise LogError(
            f"topic `{name}` has been written to by something else, so the last commit of `{application_id}` is not "
            "known: restore the log from a backup"
        )
    record: bytes = decode(state.end - 1, entry)[1].column("value")[0].as_py()
    return record


def read_kept(txn: Any, environment: Environment, application_id: str, name: str) -> bytes | None:
    """What an application keeps beside its commit record."""
    found: bytes | None = txn.get(_kept_key(application_id, name), db=environment.applications)
    return found


def _kept_key(application_id: str, name: str) -> bytes:
    return f"{application_id}/{name}".encode()  # no application has a `/` in its name


class EmbeddedPublisher:
    """Publishes in one LMDB transaction; the epoch is checked inside it."""

    def __init__(self, directory: Path, application_id: str, *, take_over: bool) -> None:
        catalog.check_name(commits_topic(application_id))
        self._application_id = application_id
        self._environment = acquire(directory)
        try:
            self._become_writer(take_over)
        except BaseException:
            release(self._environment)
            raise
        self._open = True
        self._upkeep = Upkeep(directory)

    def _become_writer(self, take_over: bool) -> None:
        environment, name = self._environment, self._application_id
        while True:
            with environment.read() as txn:
                epoch = read_application(txn, environment, name).epoch
            current = EpochLock(environment.path, name, epoch)
            if current.acquire():
                current.release(remove=True)
            elif not take_over:
                raise current.refuse()
            mine = EpochLock(environment.path, name, epoch + 1)
            if not mine.acquire():
                raise mine.refuse()  # it is starting at this very moment
            with environment.write() as txn:
                stored = read_application(txn, environment, name)
                won = stored.epoch == epoch
                if won:
                    stored.epoch = epoch + 1
                    txn.put(name.encode(), msgspec.json.encode(stored), db=environment.applications)
                    self._topic = _ensure_commits(txn, environment, name)
            if won:
                self._epoch, self._lock = epoch + 1, mine
                return
            mine.release(remove=False)  # another start was faster: look again

    def last_commit(self) -> bytes | None:
        """The newest commit record; None before the first commit."""
        with self._environment.read() as txn:
            return read_commit(txn, self._environment, self._application_id)

    def publish(self, publication: Publication) -> Mapping[TopicPartition, int]:
        """Outputs, changelogs, the commit record and the positions, in one transaction."""
        outputs = writer.prepare(self._environment, publication.outputs)
        changelogs = writer.prepare(self._environment, publication.changelogs)
        failpoint("publish.before")
        with self._environment.write(writer.size(outputs) + writer.size(changelogs)) as txn:
            self._check_epoch(txn)
            failpoint("publish.begun")
            ends = writer.write(txn, self._environment, changelogs)
            writer.write(txn, self._environment, outputs)
            failpoint("publish.records")
            self._put_commit(txn, publication.commit(ends))
            self._put_kept(txn, publication.kept)
            stored = [(place.topic, place.partition, at) for place, at in publication.positions.items()]
            application = Application(self._epoch, stored)
            txn.put(
                self._application_id.encode(),
                msgspec.json.encode(application),
                db=self._environment.applications,
            )
            failpoint("publish.sent")
        failpoint("publish.committed")
        return ends

    def _check_epoch(self, txn: Any) -> None:
        if not self._open:
            raise LogError(f"the publisher of application `{self._application_id}` is closed")
        epoch = read_application(txn, self._environment, self._application_id).epoch
        if epoch != self._epoch:
            raise FencedError(
                f"application `{self._application_id}` was taken over by another process "
                f"(epoch {epoch}, this one has {self._epoch}): this one must stop"
            )

    def _put_commit(self, txn: Any, record: bytes) -> None:
        """The topic always holds the newest record only: it is compacted as it is written."""
        state = catalog.state(txn, self._environment, self._topic, 0)
        if state.end:
            txn.delete(entry_key(self._topic.id, 0, state.end - 1), db=self._environment.entries)
        entry = encode(to_batch([COMMIT_KEY], [record], [self._epoch]))
        txn.put(entry_key(self._topic.id, 0, state.end), entry, db=self._environment.entries)
        state.end += 1
        catalog.put_state(txn, self._environment, self._topic, 0, state)

    def _put_kept(self, txn: Any, kept: Mapping[str, bytes | None]) -> None:
        applications = self._environment.applications
        for name, value in kept.items():
            key = _kept_key(self._application_id, name)
            if value is None:
                txn.delete(key, db=applications)
            else:
                txn.put(key, value, db=applications)

    def close(self) -> None:
        """Let the application go: another process may start it at once."""
        if self._open:
            self._open = False
            self._upkeep.close()
            self._lock.release(remove=True)
            release(self._environment)


def _ensure_commits(txn: Any, environment: Environment, application_id: str) -> Topic:
    name = commits_topic(application_id)
    if txn.get(name.encode(), db=environment.topics) is None:
        return catalog.create(txn, environment, name, 1, {"cleanup.policy": "compact"})
    return catalog.find(txn, environment, name)
