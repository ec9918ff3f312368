"""The lossy proxy: a connection to a real server on which requests arrive, and answers are lost."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Literal

_CHUNK = 65536
Mood = Literal["kind", "lose", "cut", "silent"]


class LossyProxy:
    """Passes bytes between clients and a server on loopback, until a test tells it to spoil the next ones."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._mood: Mood = "kind"
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_answer(self) -> None:
        """The next request reaches the server; its answer is dropped and the connection ends."""
        self._mood = "lose"

    def cut(self) -> None:
        """The next request does not reach the server: its connection ends."""
        self._mood = "cut"

    def silence(self) -> None:
        """The next request is taken, and nothing comes back."""
        self._mood = "silent"

    def close(self) -> None:
        """Ends all connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            _end(connection)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                for connection in (client, server):
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._open.add(connection)
                threading.Thread(target=self._pass, args=(client, server, True), daemon=True).start()
                threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()

    def _pass(self, origin: socket.socket, target: socket.socket, is_request: bool) -> None:
        with suppress(OSError):
            while (told := origin.recv(_CHUNK)) and self._let_pass(is_request):
                target.sendall(told)
        for connection in (origin, target):
            _end(connection)
            self._open.discard(connection)

    def _let_pass(self, is_request: bool) -> bool:
        """Whether these bytes are passed on. A fault is over once it has spoiled something."""
        if is_request and self._mood == "silent":
            self._mood = "kind"
            threading.Event().wait(60)  # the client gives up long before
        if self._mood == ("cut" if is_request else "lose"):
            self._mood = "kind"
            return False
        return True


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
