"""The wire: HTTP/1.1 on loopback in one thread, as fast as Python can; each answer leaves after the chosen latency."""

from __future__ import annotations

import heapq
import re
import selectors
import socket
import time

from benchmarks.canned.kinesis import KinesisService
from benchmarks.canned.service import Service

HOST = "127.0.0.1"
CONTROL = "Canned.Control"  # calls of the benchmark to the service itself: not counted, not delayed
_SEND_BYTES = 4 * 1024 * 1024
_TARGET = re.compile(rb"\r\nx-amz-target: *([^\r]+)\r\n", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


class Connection:
    """A client's connection: what came of the next request, and what is still to be sent of the answer."""

    __slots__ = ("socket", "received", "leaving")

    def __init__(self, socket: socket.socket) -> None:
        self.socket = socket
        self.received = bytearray()
        self.leaving: list[memoryview] = []

    def take_request(self) -> tuple[str, bytes] | None:
        """The target and the body of a request, once it is here whole."""
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = bytes(self.received[: end + 2])
        length = _LENGTH.search(head)
        target = _TARGET.search(head)
        stop = end + 4 + (int(length[1]) if length else 0)
        if len(self.received) < stop:
            return None
        body = bytes(self.received[end + 4 : stop])
        del self.received[:stop]
        return (target[1].decode() if target else ""), body

    def send(self) -> bool:
        """Sends what the socket takes; whether all has left."""
        while self.leaving:
            try:
                sent = self.socket.sendmsg(self.leaving)
            except BlockingIOError:
                return False
            while self.leaving and sent >= len(self.leaving[0]):
                sent -= len(self.leaving.pop(0))
            if sent:
                self.leaving[0] = self.leaving[0][sent:]
        return True


class Server:
    """Serves until its process ends."""

    def __init__(self, service: Service | KinesisService) -> None:
        self._service = service
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server((HOST, 0), backlog=512)
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._due: list[tuple[float, int, Connection]] = []
        self._serial = 0
        self.port: int = self._listener.getsockname()[1]

    def serve(self) -> None:
        """Answers, for ever."""
        while True:
            pause = max(0.0, self._due[0][0] - time.monotonic()) if self._due else None
            for key, _ in self._selector.select(pause):
                if key.data is None:
                    self._accept()
                else:
                    self._attend(key.data)
            while self._due and self._due[0][0] <= time.monotonic():
                self._send(heapq.heappop(self._due)[2])

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
        self._selector.register(client, selectors.EVENT_READ, Connection(client))

    def _attend(self, connection: Connection) -> None:
        if connection.leaving and connection.socket.fileno() >= 0:
            self._send(connection)
            return
        try:
            received = connection.socket.recv(64 * 1024)
        except BlockingIOError:
            return
        except ConnectionError:
            received = b""
        if not received:
            self._end(connection)
            return
        connection.received += received
        request = connection.take_request()
        if request is not None:
            self._answer(connection, *request)

    def _answer(self, connection: Connection, target: str, body: bytes) -> None:
        service = self._service
        if target == CONTROL:
            answer, checksum, latency = service.control(body), "0", 0.0
        else:
            answer, checksum = service.answer(target, body)
            latency = service.latency
        connection.leaving = [memoryview(service.head(len(answer), checksum)), memoryview(answer)]
        if latency <= 0:
            self._send(connection)
        else:
            self._serial += 1
            heapq.heappush(self._due, (time.monotonic() + latency, self._serial, connection))

    def _send(self, connection: Connection) -> None:
        try:
            is_sent = connection.send()
        except ConnectionError:
            self._end(connection)
            return
        events = selectors.EVENT_READ if is_sent else selectors.EVENT_WRITE
        if self._selector.get_key(connection.socket).events != events:
            self._selector.modify(connection.socket, events, connection)

    def _end(self, connection: Connection) -> None:
        if connection.socket.fileno() < 0:
            return
        self._selector.unregister(connection.socket)
        connection.socket.close()
