"""HTTP/1.1: just what AWS clients speak of it: POST with a length, connections kept alive.

It is written out instead of built on http.server because that takes longer over a request's headers than the service
takes over a page of a thousand records.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus

from streamiter.testing.http.answer import LOOK_SECONDS, Answer
from streamiter.testing.http.incoming import Incoming
from streamiter.testing.http.request import MAX_BODY, MAX_HEAD, BadRequest, Request

TLS_HANDSHAKE = b"\x16"  # its first byte
_WORTH_A_COPY = 16 * 1024  # bytes of a body
_LONGEST_NUMBER = 12  # digits of a length: more are nonsense


def converse(incoming: Incoming, answer: Callable[[Request], Answer], closing: threading.Event) -> None:
    """Answers one request after the other, until either side ends it."""
    connection = incoming.connection
    while not closing.is_set():
        try:
            request = read_request(incoming)
        except BadRequest as error:
            with contextlib.suppress(OSError):
                connection.sendall(_head(Answer(error.status, b"", {"Connection": "close"}), 0))
                incoming.linger()
            return
        if request is None:
            return
        goes_on = _send(connection, answer(request), closing, is_head=request.method == "HEAD")
        if not goes_on or request.headers.get("connection", "").lower() == "close":
            return


def read_request(incoming: Incoming) -> Request | None:
    """The next request, or None at the end of the connection."""
    unread = incoming.unread
    while (end := unread.find(b"\r\n\r\n")) < 0:
        if unread[:1] == TLS_HANDSHAKE:
            raise BadRequest("https: answered at once, as other servers do, for such a client waits for more")
        if len(unread) > MAX_HEAD:
            raise BadRequest("headers without end")
        if not incoming.receive(is_within=bool(unread)):
            return None
    if end > MAX_HEAD:
        raise BadRequest("headers without end")
    line, *fields = bytes(unread[:end]).decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (text.partition(":") for text in fields)}
    if len(headers) < len(fields) and len({text.partition(":")[2].strip() for text in fields if _is_length(text)}) > 1:
        raise BadRequest("two lengths")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > _LONGEST_NUMBER or "transfer-encoding" in headers:
        raise BadRequest("a body without a length")
    if int(length) > MAX_BODY:
        raise BadRequest("a body that is too long", 413)
    if headers.get("expect", "").lower() == "100-continue":
        incoming.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    start, stop = end + 4, end + 4 + int(length)
    while len(unread) < stop:
        if not incoming.receive(is_within=True):
            return None
    body = bytes(unread[start:stop])
    del unread[:stop]
    incoming.completed()
    return Request(line.partition(" ")[0], headers, body)


def _is_length(field: str) -> bool:
    return field.partition(":")[0].strip().lower() == "content-length"


def _send(connection: socket.socket, answer: Answer, closing: threading.Event, *, is_head: bool) -> bool:
    """Sends an answer; whether the connection goes on."""
    answer.wait(closing)
    if answer.is_lost:
        return False
    if answer.following is not None and not answer.is_cut:
        return _send_chunks(connection, answer, closing)
    head = _head(answer, len(answer.body))
    if answer.is_cut:
        connection.sendall(head + answer.body[: len(answer.body) // 2])
        return False
    send_whole(connection, head, b"" if is_head else answer.body)
    return True


def send_whole(connection: socket.socket, head: bytes, body: bytes) -> None:
    """Both, in one packet if they fit. A body of half a megabyte is not copied behind its head first."""
    if len(body) < _WORTH_A_COPY:
        connection.sendall(head + body)
        return
    sent = connection.sendmsg((head, body))
    if sent < len(head) + len(body):
        connection.sendall(head[sent:])
        connection.sendall(memoryview(body)[max(0, sent - len(head)) :])


def _send_chunks(connection: socket.socket, answer: Answer, closing: threading.Event) -> bool:
    """An answer that goes on, as it comes."""
    assert answer.following is not None
    connection.sendall(_head(answer, None) + _chunk(answer.body))
    while not closing.is_set():
        more = answer.following()
        if more is None:
            connection.sendall(b"0\r\n\r\n")
            return True
        if more:
            connection.sendall(_chunk(more))
        elif _is_left(connection):
            return False
        else:
            closing.wait(LOOK_SECONDS)
    return False


def _chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body) if body else b""


def _is_left(connection: socket.socket) -> bool:
    """Whether the client hung up: it has nothing to say while an answer goes on."""
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _head(answer: Answer, length: int | None) -> bytes:
    fields = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
    fields += "Transfer-Encoding: chunked\r\n" if length is None else f"Content-Length: {length}\r\n"
    return f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n{fields}\r\n".encode("latin-1")
