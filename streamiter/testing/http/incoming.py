"""Incoming: the bytes of one connection, and how long it may stay silent."""

from __future__ import annotations

import contextlib
import socket
import struct

from streamiter.clock import SystemClock

PATIENCE_SECONDS = 30.0  # in the middle of a request
_LINGERS_SECONDS, _LINGERS_READS = 1.0, 300
IDLE_LOOKS = 40  # so many times that long between requests, and for all of a request that comes in small pieces


class Incoming:
    """The bytes that a client sent and that we have not read yet."""

    def __init__(self, connection: socket.socket, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.connection = connection
        self.unread = bytearray()
        self.has_ended = False  # the client said that nothing more comes
        self._most_seconds = IDLE_LOOKS * patience_seconds
        self._began: float | None = None  # when the request under way was in its middle first
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        # The kernel's time limits: Python's own cost a call more for each read and write.
        _limit(connection, socket.SO_RCVTIMEO, patience_seconds)
        _limit(connection, socket.SO_SNDTIMEO, 10 * patience_seconds)

    def receive(self, *, is_within: bool) -> bool:
        """Takes in more; False when the client is gone, or silent for too long, which is sooner within a request."""
        if is_within and self._is_late():
            return False
        for _ in range(1 if is_within else IDLE_LOOKS):
            with contextlib.suppress(BlockingIOError):  # nothing came in time
                received = self.connection.recv(64 * 1024)
                self.unread += received
                self.has_ended = not received
                return bool(received)
        return False

    def linger(self) -> None:
        """Reads on for a moment after the last answer: to close on what still comes would take it away from the client."""
        self.connection.shutdown(socket.SHUT_WR)
        _limit(self.connection, socket.SO_RCVTIMEO, _LINGERS_SECONDS)
        for _ in range(_LINGERS_READS):
            if not self.connection.recv(64 * 1024):
                return

    def completed(self) -> None:
        """A request is there as a whole."""
        self._began = None

    def _is_late(self) -> bool:
        now = SystemClock().monotonic()
        if self._began is None:
            self._began = now
        return now - self._began > self._most_seconds


def _limit(connection: socket.socket, option: int, seconds: float) -> None:
    whole = int(seconds)
    connection.setsockopt(socket.SOL_SOCKET, option, struct.pack("@ll", whole, int((seconds - whole) * 1e6)))
