"""Exchanges: one call and its answer over a connection that botocore opened, and keeps for the next call.

Which connections there are, TLS, certificates and time-outs are botocore's: only a connection that is open and idle is used,
and it goes back where it came from. Anything that is not a plain HTTP/1.1 answer of known length ends the connection.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from botocore.awsrequest import AWSHTTPConnection, AWSHTTPSConnection
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

_KINDS = (AWSHTTPConnection, AWSHTTPSConnection)  # tools that record calls put others in their place
_MOST_HEADERS = 100
_LONGEST_LINE = 65_536


class Reply(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]  # their names in lower case
    body: bytes


class OddReplyError(Exception):
    """The answer is none that is understood here."""


def exchange(pool: Any, url: str, message: bytes) -> Reply | None:
    """Sends a call and gives its answer; None where no connection is open and idle. Raises what botocore raises."""
    connection = _idle(pool)
    if connection is None:
        return None
    is_reusable = False
    try:
        connection.sock.sendall(message)
        with connection.sock.makefile("rb", _LONGEST_LINE) as stream:
            reply = _read(stream)
        is_reusable = reply.headers.get("connection", "keep-alive").lower() == "keep-alive"
        return reply
    except TimeoutError as error:
        raise ReadTimeoutError(endpoint_url=url, error=error) from error
    except OSError as error:  # ssl.SSLError is one, too
        raise ConnectionClosedError(endpoint_url=url, error=error) from error
    finally:
        if not is_reusable:
            connection.close()
        pool._put_conn(connection)


def _idle(pool: Any) -> Any:
    """A connection that is open, and that nobody uses; the caller puts it back."""
    try:
        connection = pool._get_conn()
    except Exception:  # the pool was closed
        return None
    if type(connection) in _KINDS and connection.sock is not None:
        return connection
    pool._put_conn(connection)
    return None


def _read(stream: Any) -> Reply:
    version, _, rest = _line(stream).partition(" ")
    status = rest[:3]
    if version != "HTTP/1.1" or not status.isdecimal() or status[0] not in "2345":
        raise OddReplyError
    headers: dict[str, str] = {}
    while line := _line(stream):
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or not name or name[0] in " \t" or len(headers) > _MOST_HEADERS:
            raise OddReplyError
        headers[name] = f"{headers[name]}, {value.strip()}" if name in headers else value.strip()
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdecimal()) or "transfer-encoding" in headers:
        raise OddReplyError
    body = stream.read(int(length))
    if len(body) < int(length):
        raise ConnectionError("the answer was cut off")
    return Reply(int(status), headers, body)


def _line(stream: Any) -> str:
    line: bytes = stream.readline(_LONGEST_LINE)
    if not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
        raise ConnectionError("the connection was closed")
    if not line.endswith(b"\r\n"):
        raise OddReplyError
    return line[:-2].decode("latin-1")
