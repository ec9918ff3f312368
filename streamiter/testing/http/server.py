"""The server: HTTP/1.1 on loopback, just what AWS clients speak: POST with a length, connections kept alive.

A thread for each connection, since answers may hang or come late. It is written out instead of built on http.server
because that takes longer over a request's headers than the service takes over a page of a thousand records.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from http import HTTPStatus
from typing import NamedTuple

from streamiter.testing.http.reception import Answer, Reception

MAX_HEAD = 64 * 1024
MAX_BODY = 16 * 1024 * 1024
HOST = "127.0.0.1"
TLS_HANDSHAKE = b"\x16"  # its first byte
HEALTHY = b"healthy: dynamodb.simulator\n"  # the answer to a health check

_SCOPE = re.compile(r"Credential=[^,/]*/\d{8}/([\w-]{1,64})/")


class Request(NamedTuple):
    method: str
    headers: dict[str, str]  # names in lower case
    body: bytes


class BadRequest(Exception):
    """Not the HTTP that we speak; the connection ends."""


class Server:
    """Listens from the start; after `close` no thread and no socket is left."""

    def __init__(self, reception: Reception, port: int = 0) -> None:
        self._reception = reception
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._leaving: list[threading.Thread] = []  # They have nothing left to do but to end.
        self._listener = socket.create_server((HOST, port), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, name=f"simulator:{self.port}", daemon=True)
        self._acceptor.start()

    def close(self) -> None:
        """Ends all connections, also those in the middle of an answer. Idempotent."""
        if self._closing.is_set():
            return
        self._closing.set()
        with contextlib.suppress(OSError):  # A connection of our own wakes the acceptor.
            socket.create_connection((HOST, self.port), timeout=5).close()
        self._acceptor.join()
        self._listener.close()
        with self._lock:
            connections = dict(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in connections.values():
            thread.join()
        self._see_off()

    def _see_off(self) -> None:
        """Waits until the threads that are about to end have ended."""
        with self._lock:
            leaving, self._leaving = self._leaving, []
        for thread in leaving:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                if self._closing.is_set():
                    return
                continue  # The client was gone before it was accepted.
            if self._closing.is_set():
                connection.close()
                return
            self._see_off()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = threading.Thread(
                target=self._serve, args=(connection,), name=f"simulator:{self.port}:connection", daemon=True
            )
            with self._lock:
                self._connections[connection] = thread
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            self._converse(connection)
        except BadRequest:
            with contextlib.suppress(OSError):
                connection.sendall(_head(Answer(400, b""), 0))
        except OSError:
            pass  # The client is gone.
        finally:
            connection.close()
            with self._lock:
                self._leaving.append(self._connections.pop(connection))

    def _converse(self, connection: socket.socket) -> None:
        unread = bytearray()
        while not self._closing.is_set():
            request = read_request(connection, unread)
            if request is None:
                return
            if request.method != "POST":
                body = b"" if request.method == "HEAD" else HEALTHY
                connection.sendall(_head(Answer(200, HEALTHY), len(HEALTHY)) + body)
                continue
            region = signed_region(request.headers.get("authorization", ""))
            answer = self._reception.answer(request.headers.get("x-amz-target", ""), request.body, region)
            if not self._send(connection, answer) or request.headers.get("connection", "").lower() == "close":
                return

    def _send(self, connection: socket.socket, answer: Answer) -> bool:
        """Sends an answer; whether the connection goes on."""
        if answer.hangs_on is not None:
            while not answer.hangs_on.wait(0.1) and not self._closing.is_set():
                pass
        if answer.wait_seconds > 0:
            self._closing.wait(answer.wait_seconds)
        if answer.is_lost:
            return False
        head = _head(answer, len(answer.body))
        if answer.is_cut:
            connection.sendall(head + answer.body[: len(answer.body) // 2])
            return False
        connection.sendall(head + answer.body)
        return True


def read_request(connection: socket.socket, unread: bytearray) -> Request | None:
    """The next request, or None at the end of the connection. `unread` keeps what came beyond it."""
    while (end := unread.find(b"\r\n\r\n")) < 0:
        if unread[:1] == TLS_HANDSHAKE:
            raise BadRequest("https: answered at once, as other servers do, for such a client waits for more")
        if len(unread) > MAX_HEAD:
            raise BadRequest("headers without end")
        if not _receive(connection, unread):
            return None
    line, *fields = bytes(unread[:end]).decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (text.partition(":") for text in fields)}
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MAX_BODY or "transfer-encoding" in headers:
        raise BadRequest("a body without a length, or too long")
    if headers.get("expect", "").lower() == "100-continue":
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    start, stop = end + 4, end + 4 + int(length)
    while len(unread) < stop:
        if not _receive(connection, unread):
            return None
    body = bytes(unread[start:stop])
    del unread[:stop]
    return Request(line.partition(" ")[0], headers, body)


def signed_region(authorization: str) -> str | None:
    """The region in a signature's scope, `Credential=KEY/20260101/REGION/dynamodb/...`; signatures are not verified."""
    found = _SCOPE.search(authorization)
    return found[1] if found else None


def _receive(connection: socket.socket, unread: bytearray) -> bool:
    received = connection.recv(64 * 1024)
    unread += received
    return bool(received)


def _head(answer: Answer, length: int) -> bytes:
    fields = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
    reason = HTTPStatus(answer.status).phrase
    return f"HTTP/1.1 {answer.status} {reason}\r\n{fields}Content-Length: {length}\r\n\r\n".encode("latin-1")
