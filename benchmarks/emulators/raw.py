"""The raw client: bytes that were made before, sent over a few connections, and answers that are only cut out, not read.

It runs in a process of its own, so that its Python does not wait for the benchmark's. It does the same for each server, with as
little work as a client can do: of an answer it looks at the status, the length, and the place of the next iterator.
"""

from __future__ import annotations

import multiprocessing
import re
import selectors
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Protocol

from benchmarks.emulators.serving import HOST

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_ENDS = re.compile(rb"^HTTP/1\.0|\r\nconnection: *close", re.IGNORECASE)
_ITERATOR = re.compile(rb'"NextShardIterator": *"([^"]+)"')
_NEAR = 4096  # bytes at either end of an answer, where the next iterator is
_ROOM = 4 * 1024 * 1024  # for an answer


class Exchange(NamedTuple):
    """What it took to get all answers."""

    seconds: float
    cpu_seconds: float  # of the client
    bodies: list[bytes]


class Errand(Protocol):
    """What one connection is to ask."""

    def first(self) -> bytes | None:
        """The first request."""
        ...

    def next(self, body: bytes) -> bytes | None:
        """The next one, after this answer; None: that was all."""
        ...


def request(port: int, target: str, body: bytes) -> bytes:
    """One request, as AWS' clients send it: a signature is there, and nobody checks it."""
    scope = "Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
    head = (
        f"POST / HTTP/1.1\r\nHost: {HOST}:{port}\r\nX-Amz-Target: {target}\r\nContent-Type: application/x-amz-json-1.0\r\n"
        f"Authorization: AWS4-HMAC-SHA256 {scope}\r\nX-Amz-Date: 20260101T000000Z\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Requests:
    """Requests that are known before; connections share them, each takes the next one."""

    def __init__(self, port: int, target: str, bodies: Iterable[bytes]) -> None:
        self._requests = iter([request(port, target, body) for body in bodies])

    def first(self) -> bytes | None:
        return next(self._requests, None)

    def next(self, body: bytes) -> bytes | None:
        return next(self._requests, None)


class Walk:
    """So many pages of a shard, each from where the one before it ended."""

    def __init__(self, port: int, target: str, iterator: str, limit: int, pages: int) -> None:
        self._port, self._target, self._limit = port, target, limit
        self._left = pages
        self._iterator = iterator.encode()

    def first(self) -> bytes | None:
        self._left -= 1
        return request(self._port, self._target, b'{"ShardIterator":"%b","Limit":%d}' % (self._iterator, self._limit))

    def next(self, body: bytes) -> bytes | None:
        found = _ITERATOR.search(body[:_NEAR]) or _ITERATOR.search(body[-_NEAR:])
        if not self._left or found is None:
            return None
        self._iterator = found[1]
        return self.first()


def exchange(port: int, errands: Sequence[Errand]) -> Exchange:
    """Does the errands side by side, each over a connection of its own."""
    bodies: list[bytes] = []
    lines = [_Line(port, errand) for errand in errands]
    began, began_cpu = time.perf_counter(), time.process_time()
    with selectors.EpollSelector() as selector:
        for line in lines:
            if line.start():
                selector.register(line.connection, selectors.EVENT_READ, line)
        while selector.get_map():
            for key, _ in selector.select():
                line = key.data
                body = line.receive()
                if body is None:
                    continue
                bodies.append(body)
                before = line.connection
                if not line.go_on(body):
                    selector.unregister(before)
                elif line.connection is not before:
                    selector.unregister(before)
                    selector.register(line.connection, selectors.EVENT_READ, line)
    taken = Exchange(time.perf_counter() - began, time.process_time() - began_cpu, bodies)
    for line in lines:
        line.connection.close()
    return taken


class _Line:
    """One connection, and what it asks. A server that ends it with an answer gets a new one."""

    def __init__(self, port: int, errand: Errand) -> None:
        self._port = port
        self._errand = errand
        self._room = memoryview(bytearray(_ROOM))
        self._received = 0
        self._length = 0  # of the answer under way, with its head; 0: not known yet
        self._start = 0  # of its body
        self._goes_on = True
        self.connection = _connected(port)

    def start(self) -> bool:
        return self._send(self._errand.first())

    def go_on(self, body: bytes) -> bool:
        """Asks the next; whether there is more to ask."""
        asked = self._errand.next(body)
        if not self._goes_on:
            if asked is None:
                return False
            self.connection = _connected(self._port)
        return self._send(asked)

    def receive(self) -> bytes | None:
        """Takes in what is there; the body of an answer once it is whole."""
        count = self.connection.recv_into(self._room[self._received :])
        assert count, "the server ended the connection in the middle of an answer"
        self._received += count
        if not self._length:
            head, end, _ = bytes(self._room[: min(self._received, _NEAR)]).partition(b"\r\n\r\n")
            if not end:
                return None
            assert b" 200" in head[:13], bytes(self._room[:400])
            length = _LENGTH.search(head)
            assert length is not None, head
            self._start = len(head) + 4
            self._length = self._start + int(length[1])
            self._goes_on = _ENDS.search(head) is None
        if self._received < self._length:
            return None
        return bytes(self._room[self._start : self._length])

    def _send(self, asked: bytes | None) -> bool:
        if asked is None:
            return False
        self._received = self._length = 0
        self.connection.sendall(asked)
        return True


def _connected(port: int) -> socket.socket:
    connection = socket.create_connection((HOST, port), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class RawClient:
    """The client's process, from here."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def write(self, port: int, target: str, bodies: Sequence[bytes], connections: int) -> Exchange:
        """Sends these requests."""
        return self._do("write", port, target, bodies, connections)

    def read(self, port: int, target: str, iterators: Sequence[str], limit: int, pages: int) -> Exchange:
        """Reads pages, a connection for each iterator."""
        return self._do("read", port, target, iterators, limit, pages)

    def _do(self, *task: Any) -> Exchange:
        self._pipe.send(task)
        found = self._pipe.recv()
        if isinstance(found, Exception):
            raise found
        return Exchange(*found)


@contextmanager
def raw_client() -> Iterator[RawClient]:
    """Starts it, and ends it."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there,), daemon=True)
    process.start()
    try:
        yield RawClient(here)
    finally:
        process.kill()
        process.join()


def _serve(pipe: Connection) -> None:
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(_done(*task))
        except Exception as error:
            pipe.send(error)


def _done(action: str, port: int, target: str, *task: Any) -> Exchange:
    errands: list[Errand]
    if action == "write":
        bodies, connections = task
        errands = [Requests(port, target, bodies)] * connections
    else:
        iterators, limit, pages = task
        errands = [Walk(port, target, iterator, limit, pages) for iterator in iterators]
    return exchange(port, errands)
