"""The server: connections on loopback, HTTP/1.1 and HTTP/2 on one port.

A thread for each connection, since answers may hang or come late.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import socket
import threading
from collections.abc import Callable, Iterable

from streamiter.installing import install_command
from streamiter.testing.http import http1
from streamiter.testing.http.answer import Answer
from streamiter.testing.http.guard import Guard, complaint_body
from streamiter.testing.http.incoming import PATIENCE_SECONDS, Incoming
from streamiter.testing.http.reception import Reception
from streamiter.testing.http.request import HEALTHY, Request

HOST = "127.0.0.1"
HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_WAKES_SECONDS = 0.5  # how often the acceptor looks whether it is to end, where nothing else wakes it
_LONGEST_PAUSE_SECONDS = 1.0  # after a connection could not be taken

_log = logging.getLogger("streamiter.testing")


class Server:
    """Listens from the start; after `close` no thread and no socket is left."""

    def __init__(
        self,
        reception: Reception,
        port: int = 0,
        *,
        hosts: Iterable[str] = (),
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._reception = reception
        self._patience_seconds = patience_seconds
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._leaving: list[threading.Thread] = []  # They have nothing left to do but to end.
        self._listener = socket.create_server((HOST, port), backlog=128)
        self._listener.settimeout(_WAKES_SECONDS)
        self.port: int = self._listener.getsockname()[1]
        self._guard = Guard(self.port, hosts)
        self._acceptor = threading.Thread(target=self._accept, name=f"simulator:{self.port}", daemon=True)
        self._acceptor.start()

    def close(self) -> None:
        """Ends all connections, also those in the middle of an answer. Idempotent."""
        if self._closing.is_set():
            return
        self._closing.set()
        with contextlib.suppress(OSError):  # A connection of our own wakes the acceptor at once.
            socket.create_connection((HOST, self.port), timeout=5).close()
        self._acceptor.join()
        self._turn_away()
        self._listener.close()
        with self._lock:
            connections = dict(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in connections.values():
            thread.join()
        self._see_off()

    def _turn_away(self) -> None:
        """Ends the connections that wait to be taken, in good order."""
        self._listener.setblocking(False)
        with contextlib.suppress(OSError):
            while True:
                self._listener.accept()[0].close()

    def _see_off(self) -> None:
        """Waits until the threads that are about to end have ended."""
        with self._lock:
            leaving, self._leaving = self._leaving, []
        for thread in leaving:
            thread.join()

    # -- taking connections

    def _accept(self) -> None:
        """Goes on until it is closed, whatever the machine lacks for the moment: descriptors, threads, memory."""
        pause_seconds = 0.0
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError as error:
                # A client that was gone before it was accepted; or no descriptor is free: its connection waits.
                pause_seconds = self._rest(pause_seconds, error)
                continue
            if self._closing.is_set():
                connection.close()
                return
            self._see_off()
            try:
                self._take(connection)
            except (OSError, RuntimeError, MemoryError) as error:
                connection.close()
                pause_seconds = self._rest(pause_seconds, error)
            else:
                pause_seconds = 0.0

    def _rest(self, before_seconds: float, error: BaseException) -> float:
        if not before_seconds:
            _log.warning("cannot take a connection for the moment: %s", error)
        seconds = min(_LONGEST_PAUSE_SECONDS, 2 * before_seconds or 0.02)
        self._closing.wait(seconds)
        return seconds

    def _take(self, connection: socket.socket) -> None:
        incoming = Incoming(connection, self._patience_seconds)
        name = f"simulator:{self.port}:connection"
        thread = threading.Thread(target=self._serve, args=(incoming,), name=name, daemon=True)
        with self._lock:
            self._connections[connection] = thread
        try:
            thread.start()
        except BaseException:
            with self._lock:
                del self._connections[connection]
            raise

    # -- one connection

    def _serve(self, incoming: Incoming) -> None:
        connection = incoming.connection
        try:
            self._converse(incoming)
        except OSError:
            pass  # The client is gone.
        finally:
            connection.close()
            with self._lock:
                self._leaving.append(self._connections.pop(connection))

    def _converse(self, incoming: Incoming) -> None:
        while len(incoming.unread) < len(HTTP2_PREFACE) and HTTP2_PREFACE.startswith(incoming.unread):
            if not incoming.receive(is_within=bool(incoming.unread)):
                return
        if incoming.unread.startswith(HTTP2_PREFACE):
            converse_by_http2(incoming, self._answer, self._closing)
        else:
            http1.converse(incoming, self._answer, self._closing)

    def _answer(self, request: Request) -> Answer:
        headers = request.headers
        complaint = self._guard.complaint(headers.get("host"), headers.get("origin"))
        if complaint is not None:
            return Answer(403, complaint_body(complaint), {"Content-Type": "application/json"})
        if request.method != "POST":
            return Answer(200, HEALTHY, {"Content-Type": "text/plain"})
        return self._reception.answer(request)


def has_http2() -> bool:
    """Whether the package for it is installed."""
    return importlib.util.find_spec("h2") is not None


def converse_by_http2(incoming: Incoming, answer: Callable[[Request], Answer], closing: threading.Event) -> None:
    """A connection that speaks HTTP/2; it ends at once, with a warning, where the package for it is not installed."""
    if not has_http2():
        _log.warning("a client speaks HTTP/2, and h2 is not installed; to get it: %s", install_command("testing"))
        return
    from streamiter.testing.http.http2 import Conversation

    Conversation(incoming, answer, closing).run()
