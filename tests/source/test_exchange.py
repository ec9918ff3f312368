"""Exchanges: an answer is understood whole or not at all, and a connection that gave another one is not used again."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.awsrequest import AWSHTTPConnection
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from streamiter.source.exchange import OddReplyError, exchange

URL = "http://127.0.0.1:1/"
PLAIN = b"HTTP/1.1 200 OK\r\nDate: Mon\r\nContent-Length: 2\r\n\r\n{}"


class Pool:
    """One connection, in place of urllib3's."""

    def __init__(self, connection: Any) -> None:
        self.kept = [connection]

    def _get_conn(self) -> Any:
        return self.kept.pop()

    def _put_conn(self, connection: Any) -> None:
        self.kept.append(connection)


@pytest.fixture
def wire() -> Iterator[tuple[Pool, socket.socket]]:
    ours, theirs = socket.socketpair()
    connection: Any = AWSHTTPConnection("127.0.0.1", 1)
    connection.sock = ours
    ours.settimeout(5)
    yield Pool(connection), theirs
    connection.close()
    theirs.close()


def is_open(pool: Pool) -> bool:
    (connection,) = pool.kept
    return connection.sock is not None


def test_a_plain_answer(wire: tuple[Pool, socket.socket]):
    pool, theirs = wire
    for _ in range(2):
        theirs.sendall(PLAIN)
        assert exchange(pool, URL, b"a call") == (200, {"date": "Mon", "content-length": "2"}, b"{}")
        assert theirs.recv(100) == b"a call"
        assert is_open(pool)


def test_a_service_that_wants_it_closed_has_it_closed(wire: tuple[Pool, socket.socket]):
    pool, theirs = wire
    theirs.sendall(PLAIN.replace(b"Date: Mon", b"Connection: close"))
    reply = exchange(pool, URL, b"a call")
    assert reply is not None
    assert reply.body == b"{}"
    assert not is_open(pool)
    assert exchange(pool, URL, b"a call") is None, "botocore opens a new one"
    assert len(pool.kept) == 1


@pytest.mark.parametrize(
    "answer",
    [
        PLAIN.replace(b"1.1", b"1.0"),
        PLAIN.replace(b"200", b"100"),
        PLAIN.replace(b"200", b"OK"),
        PLAIN.replace(b"Content-Length: 2", b"Transfer-Encoding: chunked"),
        PLAIN.replace(b"Date: Mon", b"Transfer-Encoding: chunked"),
        PLAIN.replace(b"Content-Length: 2\r\n", b""),
        PLAIN.replace(b"Length: 2", b"Length: -2"),
        PLAIN.replace(b"Date: Mon", b"Content-Length: 2"),
        PLAIN.replace(b"Date: Mon", b"Date: Mon\r\n folded"),
        PLAIN.replace(b"Date: Mon", b"no header"),
        b"\x16\x03\x01\x00\n\r\n",
    ],
)
def test_an_odd_answer_is_left_to_botocore(wire: tuple[Pool, socket.socket], answer: bytes):
    pool, theirs = wire
    theirs.sendall(answer)
    with pytest.raises(OddReplyError):
        exchange(pool, URL, b"a call")
    assert not is_open(pool)


@pytest.mark.parametrize("cut", [0, 5, 20, len(PLAIN) - 1])
def test_one_that_breaks_off_is_botocores_error(wire: tuple[Pool, socket.socket], cut: int):
    pool, theirs = wire
    theirs.sendall(PLAIN[:cut])
    theirs.close()
    with pytest.raises(ConnectionClosedError):
        exchange(pool, URL, b"a call")
    assert not is_open(pool)


def test_one_that_does_not_come_is_botocores_error(wire: tuple[Pool, socket.socket]):
    pool, _ = wire
    pool.kept[0].sock.settimeout(0.01)
    with pytest.raises(ReadTimeoutError):
        exchange(pool, URL, b"a call")
    assert not is_open(pool)


def test_a_connection_of_another_kind_is_not_used():
    pool = Pool(object())
    assert exchange(pool, URL, b"a call") is None
    assert len(pool.kept) == 1
