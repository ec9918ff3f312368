"""The server takes connections whatever the machine lacks for a while, and lets go of those that say nothing."""

from __future__ import annotations

import errno
import socket
import threading
from typing import Any

import pytest

from streamiter.testing import Simulator
from streamiter.testing.http.server import Server

pytestmark = pytest.mark.outdoors


class Lacking:
    """Lets something fail a number of times, and counts how often it was tried."""

    def __init__(self, real: Any, error: BaseException, times: int) -> None:
        self.real, self.error, self.times, self.tried = real, error, times, 0

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.tried += 1
        if self.tried <= self.times:
            raise self.error
        return self.real(*args, **options)


def is_answered(sim: Simulator) -> bool:
    host, _, port = sim.endpoint_url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as client:
        client.sendall(f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        try:
            return client.recv(100).startswith(b"HTTP/1.1 200")
        except ConnectionResetError:
            return False


def test_it_goes_on_after_no_thread_could_be_started(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    with Simulator("S0") as sim:
        lacking = Lacking(Server._take, RuntimeError("can't start new thread"), 2)
        monkeypatch.setattr(Server, "_take", lambda self, connection: lacking(self, connection))
        assert [is_answered(sim) for _ in range(3)] == [False, False, True]
    assert caplog.text.count("cannot take a connection for the moment: can't start new thread") == 1


def test_a_thread_that_does_not_start_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch):
    with Simulator("S0") as sim:
        real = threading.Thread.start

        def start(thread: threading.Thread) -> None:
            if thread.name.endswith(":connection"):
                raise RuntimeError("can't start new thread")
            real(thread)

        with monkeypatch.context() as without:
            without.setattr(threading.Thread, "start", start)
            assert not is_answered(sim)
        assert is_answered(sim)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("simulator")]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS])
def test_without_descriptors_it_waits_instead_of_spinning(monkeypatch: pytest.MonkeyPatch, number: int):
    pauses: list[float] = []
    real = Server._rest

    def rest(self: Server, before_seconds: float, error: BaseException) -> float:
        pauses.append(real(self, before_seconds, error))
        return pauses[-1]

    lacking = Lacking(socket.socket.accept, OSError(number, "lacking"), 5)
    monkeypatch.setattr(Server, "_rest", rest)
    monkeypatch.setattr(socket.socket, "accept", lambda listener: lacking(listener))
    with Simulator("S0") as sim:
        assert is_answered(sim)
    assert pauses[:5] == [0.02, 0.04, 0.08, 0.16, 0.32], "each longer than the one before"


def test_it_can_be_closed_while_descriptors_lack(monkeypatch: pytest.MonkeyPatch):
    sim = Simulator("S0")
    lacking = Lacking(None, OSError(errno.EMFILE, "Too many open files"), 1 << 60)
    monkeypatch.setattr(socket, "create_connection", lacking)
    monkeypatch.setattr(socket.socket, "accept", lambda listener: lacking(listener))
    sim.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("simulator")]


@pytest.mark.realtime
@pytest.mark.parametrize(
    "said",
    [
        b"POST / HT",
        b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n{",
        b"PRI * HTTP/2.0",
        b"",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_a_client_that_says_nothing_more_is_let_go(said: bytes):
    with Simulator("S0") as sim:
        server = Server(sim._reception, patience_seconds=0.05)
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
            client.sendall(said)
            while client.recv(1000):
                pass  # a preface is answered first
        server.close()


@pytest.mark.realtime
def test_a_request_that_comes_by_the_byte_ends_sometime():
    with Simulator("S0") as sim:
        server = Server(sim._reception, patience_seconds=0.02)
        client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        with client, pytest.raises(OSError, match=r"reset|pipe"):
            drip(client)
        server.close()


def drip(client: socket.socket) -> None:
    while True:
        client.sendall(b"x")
        threading.Event().wait(0.005)
