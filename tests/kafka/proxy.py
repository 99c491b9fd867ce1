"""A TCP proxy that understands just enough of Kafka's protocol to lose an answer."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

END_TXN = 26


class Proxy:
    """Passes everything on to `target`, until told to cut connections or to swallow an answer.

    It listens from the beginning, so that its port can be advertised before the broker is up.
    """

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self.target = 0
        self.swallowed = threading.Event()
        """Set when the answer that was to be lost has been lost."""
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._swallow: int | None = None
        self._cut_with_it = False
        self._closed = False
        self._refusing = False
        threading.Thread(target=self._accept, daemon=True).start()

    def swallow_answer(self, api_key: int, *, cut: bool = False) -> None:
        """Lose the next answer to a request of this kind; with `cut`, refuse all connections from then on."""
        with self._lock:
            self._swallow, self._cut_with_it = api_key, cut
            self.swallowed.clear()

    def cut(self) -> None:
        """Break every connection and refuse new ones, until `mend`."""
        with self._lock:
            self._refusing = True
        self._drop_all()

    def mend(self) -> None:
        """Accept connections again."""
        with self._lock:
            self._refusing = False
            self._swallow = None

    def close(self) -> None:
        """Stop for good."""
        self._closed = True
        self._server.close()
        self._drop_all()

    def _drop_all(self) -> None:
        with self._lock:
            connections, self._connections = self._connections, set()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            if self._refusing or not self.target:
                client.close()
                continue
            try:
                broker = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            for connection in (client, broker):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._connections |= {client, broker}
            doomed: set[int] = set()
            threading.Thread(target=self._requests, args=(client, broker, doomed), daemon=True).start()
            threading.Thread(target=self._answers, args=(broker, client, doomed), daemon=True).start()

    def _requests(self, client: socket.socket, broker: socket.socket, doomed: set[int]) -> None:
        for frame in _frames(client, broker):
            api_key, _, correlation = struct.unpack_from(">hhi", frame, 4)
            with self._lock:
                if api_key == self._swallow:
                    self._swallow = None
                    doomed.add(correlation)
            with contextlib.suppress(OSError):
                broker.sendall(frame)

    def _answers(self, broker: socket.socket, client: socket.socket, doomed: set[int]) -> None:
        for frame in _frames(broker, client):
            (correlation,) = struct.unpack_from(">i", frame, 4)
            if correlation in doomed:
                doomed.discard(correlation)
                if self._cut_with_it:
                    self.cut()
                self.swallowed.set()
                continue
            with contextlib.suppress(OSError):
                client.sendall(frame)


def _frames(source: socket.socket, other: socket.socket) -> Iterator[bytes]:
    """Whole frames, each with its length in front; when one side is gone, the other is closed too."""
    try:
        with source.makefile("rb") as stream:
            while len(head := stream.read(4)) == 4:
                yield head + stream.read(struct.unpack(">i", head)[0])
    except (OSError, ValueError):
        pass
    finally:
        for end in (source, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
