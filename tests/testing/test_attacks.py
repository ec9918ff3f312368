"""Attacks on the server, by hand on a socket: each is refused or let pass, none is a 500, and others are answered meanwhile."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hpack import Encoder
from hyperframe import frame as frames

from streamiter.testing import Simulator
from streamiter.testing.http import http2

pytestmark = pytest.mark.outdoors
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
TARGET = "Kinesis_20131202.ListStreams"
Frames = Callable[[int], bytes]


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    with Simulator("S0") as simulator:
        simulator.create_stream("s", "S0 ~ S1")
        yield simulator


def host_of(sim: Simulator) -> str:
    return sim.endpoint_url.removeprefix("http://")


def connected(sim: Simulator) -> socket.socket:
    host, _, port = host_of(sim).partition(":")
    return socket.create_connection((host, int(port)), timeout=60)


def request(
    sim: Simulator, *fields: str, body: bytes = b"{}", host: str | None = None, line: str = "POST / HTTP/1.1"
) -> bytes:
    """One request, after which the connection ends."""
    length = (
        () if any("ength" in field or "ncoding" in field for field in fields) else (f"Content-Length: {len(body)}",)
    )
    head = [line, f"Host: {host or host_of(sim)}", f"X-Amz-Target: {TARGET}", "Connection: close", *length, *fields]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


def told(sim: Simulator, sent: bytes) -> bytes:
    """All that comes back until the connection ends."""
    with connected(sim) as connection, contextlib.suppress(ConnectionResetError):
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while more := connection.recv(65536):
            received += more
        return received
    return b""


def is_answering(sim: Simulator) -> bool:
    return told(sim, request(sim)).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(
    "status, fields",
    [
        (400, ["Content-Length: +2"]),
        (400, ["Content-Length: 0x2"]),
        (400, ["Content-Length: 2, 2"]),
        (400, ["Content-Length: \u00b2"]),
        (400, ["Content-Length: 2", "Content-Length: 3"]),
        (200, ["Content-Length: 2", "content-length:2"]),
        (413, ["Content-Length: 99999999"]),
        (400, ["Transfer-Encoding: chunked"]),
        (400, ["Transfer-Encoding: chunked", "Content-Length: 2"]),
        (400, ["X-Long: " + "a" * 70_000]),
        (200, [f"X-{number}: a" for number in range(3000)]),
        (200, ["no colon"]),
        (200, ["X\0: \0"]),
        (400, ["Content-Encoding: gzip", "Content-Length: 2"]),
        (403, ["Origin: null"]),
        (403, ["Origin: file://"]),
        (403, ["Origin: http://127.0.0.1:80@evil"]),
    ],
)
def test_headers_of_all_kinds(sim: Simulator, status: int, fields: list[str]):
    body = b"\x1f\x8b" if "gzip" in fields[0] else b"{}"
    assert int(told(sim, request(sim, *fields, body=body)).split(b" ")[1]) == status


@pytest.mark.parametrize(
    "host", ["evil", "", "]", "[::1", "127.0.0.1", "0.0.0.0", "127.1", "a" * 60_000, "u@127.0.0.1"]
)
@pytest.mark.parametrize("ending", ["", ":{port}", ":{port}0", ":{port}:1"])
def test_hosts_that_are_not_ours(sim: Simulator, host: str, ending: str):
    port = host_of(sim).partition(":")[2]
    is_ours = (host, ending) == ("127.0.0.1", ":{port}")
    # An empty one is sent as a single space.
    answer = told(sim, request(sim, host=(host + ending.format(port=port)) or " "))
    assert answer.startswith(b"HTTP/1.1 200" if is_ours else b"HTTP/1.1 403")


@pytest.mark.parametrize(
    "line",
    ["", "POST", "GET /", "post / HTTP/1.1", "BREW / HTTP/9.9", "CONNECT a:1 HTTP/1.1", "\0\0", "POST " + "/" * 60_000],
)
def test_first_lines_of_all_kinds(sim: Simulator, line: str):
    assert int(told(sim, request(sim, line=line)).split(b" ")[1]) < 500


@pytest.mark.parametrize("seed", range(4))
def test_a_request_with_bytes_that_are_wrong_is_no_mistake_of_ours(sim: Simulator, seed: int):
    draw = random.Random(seed)
    for _ in range(25):
        sent = bytearray(request(sim, body=json.dumps({"Limit": 1, "NextToken": "x"}).encode()))
        for _ in range(draw.randint(1, 6)):
            place = draw.randrange(len(sent))
            sent[place : place + draw.randint(0, 4)] = draw.randbytes(draw.randint(0, 4))
        assert b" 500 " not in told(sim, bytes(sent))[:20]
    assert is_answering(sim)


# -- HTTP/2


def headers(sim: Simulator, number: int, *more: tuple[str, str], ends: bool = True) -> bytes:
    fields = [(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", host_of(sim)), *more]
    flags = ["END_HEADERS", "END_STREAM"] if ends else ["END_HEADERS"]
    packed = Encoder().encode([*fields, ("x-amz-target", "DynamoDBStreams_20120810.ListStreams")])  # needs no body
    frame: bytes = frames.HeadersFrame(2 * number + 1, packed, flags=flags).serialize()
    return frame


def reset(number: int) -> bytes:
    frame: bytes = frames.RstStreamFrame(2 * number + 1, error_code=8).serialize()
    return frame


def flood(sim: Simulator, flooding: Frames, count: int) -> None:
    """So many frames on one connection, as far as the server takes them; what it says is read and thrown away."""
    with connected(sim) as connection:

        def listen() -> None:
            with contextlib.suppress(OSError):
                while connection.recv(65536):
                    pass

        listener = threading.Thread(target=listen)
        listener.start()
        with contextlib.suppress(OSError):
            connection.sendall(PREFACE + frames.SettingsFrame(0).serialize())
            for number in range(count):
                connection.sendall(flooding(number))
        assert is_answering(sim)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        listener.join(60)
        assert not listener.is_alive()


FLOODS: dict[str, tuple[Callable[[Simulator], Frames], int]] = {
    "pings": (lambda _: lambda _: frames.PingFrame(0, opaque_data=b"12345678").serialize(), 2000),
    "settings": (lambda _: lambda _: frames.SettingsFrame(0, settings={4: 65535}).serialize(), 2000),
    "windows": (lambda _: lambda _: frames.WindowUpdateFrame(0, window_increment=1).serialize(), 2000),
    "windows that are too wide": (
        lambda _: lambda _: frames.WindowUpdateFrame(0, window_increment=(1 << 31) - 1).serialize(),
        5,
    ),
    "priorities": (lambda _: lambda number: frames.PriorityFrame(2 * number + 1).serialize(), 2000),
    "resets of nothing": (lambda _: reset, 50),
    "rapid resets": (lambda sim: lambda number: headers(sim, number) + reset(number), 500),
    "resets of halves": (lambda sim: lambda number: headers(sim, number, ends=False) + reset(number), 500),
    "halves": (lambda sim: lambda number: headers(sim, number, ends=False), 200),
    "empty data": (
        lambda sim: lambda number: frames.DataFrame(1, b"").serialize() if number else headers(sim, 0, ends=False),
        2000,
    ),
    "continuations": (
        lambda _: (
            lambda number: (frames.ContinuationFrame(1, b"") if number else frames.HeadersFrame(1, b"\x82")).serialize()
        ),
        500,
    ),
    "long headers": (lambda sim: lambda number: headers(sim, number, *[("x", "a" * 500)] * 20), 100),
    "a bomb of headers": (
        lambda _: (
            lambda number: frames.HeadersFrame(
                2 * number + 1, Encoder().encode([("a", "b" * 4000)]) + b"\xbe" * 16_000, flags=["END_HEADERS"]
            ).serialize()
        ),
        3,
    ),
    "frames of 16 MB": (lambda _: lambda _: b"\xff\xff\xff\0\0\0\0\0\1", 3),
    "unknown frames": (lambda _: lambda _: b"\0\0\4\x77\0\0\0\0\1abcd", 2000),
    "goodbyes": (lambda _: lambda _: frames.GoAwayFrame(0).serialize(), 200),
    "promises": (
        lambda _: lambda _: frames.PushPromiseFrame(1, 2, b"\x82", flags=["END_HEADERS"]).serialize(),
        3,
    ),
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_drowns_nobody(sim: Simulator, kind: str):
    make, count = FLOODS[kind]
    flood(sim, make(sim), count)


def test_calls_that_are_given_up_take_no_more_threads_than_there_may_be(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http2, "MOST_WORKERS", 7)
    with Simulator("S0") as sim, connected(sim) as connection:
        sim.fault("ListStreams", kind="hang", times=300)
        connection.sendall(PREFACE + frames.SettingsFrame(0).serialize())
        for number in range(300):
            connection.sendall(headers(sim, number) + reset(number))
        received = b""
        for ping in (b"the end.", b"and out."):  # the second one is answered when all calls were looked at
            connection.sendall(frames.PingFrame(0, opaque_data=ping).serialize())
            while ping not in received:
                received += connection.recv(65536)
        name = f"simulator:{host_of(sim).partition(':')[2]}:connection:"  # and the number of the stream
        assert sum(thread.name.startswith(name) for thread in threading.enumerate()) == 7


@pytest.mark.parametrize("seed", range(3))
def test_http_2_with_bytes_that_are_wrong_is_no_mistake_of_ours(
    sim: Simulator, seed: int, caplog: pytest.LogCaptureFixture
):
    draw = random.Random(seed)
    for _ in range(15):
        body: Any = frames.DataFrame(1, b'{"Limit": 1}', flags=["END_STREAM"]).serialize()
        sent = bytearray(headers(sim, 0, ends=False) + body)
        for _ in range(draw.randint(1, 5)):
            sent[draw.randrange(len(sent))] = draw.randrange(256)
        told(sim, PREFACE + frames.SettingsFrame(0).serialize() + bytes(sent))
    assert is_answering(sim)
    assert not [record for record in caplog.records if record.exc_info]


def test_connections_that_are_half_open_hold_up_nobody(sim: Simulator):
    with contextlib.ExitStack() as stack:
        for said in (b"", b"P", b"POST / HT", PREFACE[:10], PREFACE, PREFACE + b"\0\0", request(sim)[:-1]):
            for _ in range(5):
                stack.enter_context(connected(sim)).sendall(said)
        assert is_answering(sim)
