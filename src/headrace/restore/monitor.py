"""The driver's side of a restore: listens to the workers, and says how far it is and how long it will take."""

from __future__ import annotations

import hmac
import logging
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from headrace.restore.progress import RestoreProgress, Summary, summary_of
from headrace.spark.commit import Report, decode
from headrace.spark.restores import Channel, Hello, RestoreEvent

_LONGEST_LINE = 64 * 1024
_TOLD = {"start", "progress"}

logger = logging.getLogger("headrace")

RestoreListener = Callable[[RestoreEvent], None]


@dataclass(slots=True)
class _Caller:
    """A worker that has connected."""

    known: bool = False
    """Whether it has said the word."""
    buffer: bytearray = field(default_factory=bytearray)


class RestoreMonitor:
    """Hears of restores from all workers, of this host and others. Ask it for `progress`, or `subscribe`.

    Of a restore that was too short to be told of while it ran, subscribers hear after its batch was committed.
    """

    def __init__(self) -> None:
        self.last: Summary | None = None
        """What the last batch that restored anything took."""
        self._listeners: list[RestoreListener] = []
        self._lock = threading.Lock()
        self._events: dict[tuple[str, str], RestoreEvent] = {}
        """The newest of each (task, store) of the batch that runs."""
        self._began = 0.0
        self._token = secrets.token_hex(16)
        self._server: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._wake: socket.socket | None = None

    def subscribe(self, listener: RestoreListener) -> None:
        """Call `listener(event)` for each event, one at a time."""
        self._listeners.append(listener)

    def open(self, host: str | None = None) -> Channel:
        """Begin to listen; `host` is the name under which workers on other machines find this one."""
        if self._server is None:
            self._server = socket.create_server(("127.0.0.1" if host is None else "", 0))
            stop, self._wake = socket.socketpair()
            self._thread = threading.Thread(
                target=self._listen, args=(self._server, stop), name="headrace-restores", daemon=True
            )
            self._thread.start()
        port: int = self._server.getsockname()[1]
        return Channel(host or "127.0.0.1", port, self._token)

    def progress(self) -> RestoreProgress | None:
        """How far it is; None when nothing is being restored."""
        with self._lock:
            if not any(event.kind in _TOLD for event in self._events.values()):
                return None
            return RestoreProgress.of(list(self._events.values()), time.monotonic() - self._began)

    def offsets(self) -> dict[tuple[str, str], int]:
        """(Task, store) -> how far it is, of those that are being restored, or wait for it."""
        with self._lock:
            return {
                place: event.offset
                for place, event in self._events.items()
                if event.kind in _TOLD | {"waiting"}
            }

    def committed(self, reports: Sequence[Report]) -> Summary | None:
        """A batch is in the log, with what it restored; returns what that took, if it did."""
        events = [
            RestoreEvent(
                "end",
                report.task,
                done.store,
                done.topic,
                int(report.task.rpartition("_")[2]),
                done.start,
                done.end,
                done.end,
                done.records,
                done.bytes,
                done.seconds,
                report.host,
            )
            for report in reports
            for done in report.restores
        ]
        for event in events:
            with self._lock:
                known = self._events.get((event.task, event.store))
            if known is None or known.kind == "waiting":
                start = msgspec.structs.replace(
                    event, kind="start", offset=event.start, records=0, bytes=0, seconds=0.0
                )
                self._hear(start)
            if known is None or known.kind != "end":
                self._hear(event)
        with self._lock:
            self._events.clear()
        summary = summary_of(reports)
        if summary is not None:
            self.last = summary
            logger.info("%s", summary)
        return summary

    def interrupted(self) -> None:
        """The batch has failed: what was under way will be begun again, where it was left."""
        with self._lock:
            open_events = [event for event in self._events.values() if event.kind in _TOLD]
        for event in open_events:
            self._hear(msgspec.structs.replace(event, kind="suspended"))
        with self._lock:
            self._events.clear()

    def close(self) -> None:
        """Listen no more."""
        if self._wake is not None and self._thread is not None and self._server is not None:
            self._wake.close()
            self._thread.join()
            self._server.close()
            self._wake = self._server = self._thread = None

    def _hear(self, event: RestoreEvent) -> None:
        with self._lock:
            if not self._events:
                self._began = time.monotonic() - event.seconds
            self._events[event.task, event.store] = event
        if event.kind == "waiting":
            return
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                logger.exception("a restore listener raised; the restore goes on")

    def _listen(self, server: socket.socket, stop: socket.socket) -> None:
        with selectors.DefaultSelector() as selector, stop:
            selector.register(server, selectors.EVENT_READ)
            selector.register(stop, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is stop:
                        for other in list(selector.get_map().values()):
                            if isinstance(other.data, _Caller):
                                other.fileobj.close()  # type: ignore[union-attr]
                        return
                    if key.fileobj is server:
                        caller, _ = server.accept()
                        caller.setblocking(False)
                        selector.register(caller, selectors.EVENT_READ, _Caller())
                    elif not self._receive(key.fileobj, key.data):  # type: ignore[arg-type]
                        selector.unregister(key.fileobj)
                        key.fileobj.close()  # type: ignore[union-attr]

    def _receive(self, connection: socket.socket, caller: _Caller) -> bool:
        """Read what has come; False when the connection is to be closed."""
        try:
            data = connection.recv(_LONGEST_LINE)
        except BlockingIOError:
            return True
        except OSError:
            return False
        caller.buffer += data
        while (at := caller.buffer.find(b"\n")) >= 0:
            line = bytes(caller.buffer[:at])
            del caller.buffer[: at + 1]
            try:
                if caller.known:
                    self._hear(decode(line, RestoreEvent))
                elif hmac.compare_digest(decode(line, Hello).token.encode(), self._token.encode()):
                    caller.known = True
                else:
                    return False
            except msgspec.DecodeError:
                return False
        return bool(data) and len(caller.buffer) < _LONGEST_LINE
