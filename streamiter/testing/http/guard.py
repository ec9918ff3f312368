"""The guard: which requests are for this server at all, by their Host and Origin.

A page in a browser can send requests to 127.0.0.1, too; its Origin gives it away. One that had its own name resolve to
127.0.0.1 (DNS rebinding) is given away by the Host.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Guard:
    """Knows the names that we answer to: those of loopback with our port, and those that were added.

    A name that was added with a port counts with that one alone, one without counts with any port and with none.
    """

    def __init__(self, port: int, added: Iterable[str] = ()) -> None:
        added = [name.strip().lower() for name in added]
        self._exact = {f"{name}:{port}" for name in LOOPBACK} | {name for name in added if _port_of(name)}
        if port == 80:
            self._exact |= set(LOOPBACK)
        self._any_port = {name for name in added if not _port_of(name)}

    def complaint(self, host: str | None, origin: str | None) -> str | None:
        """What is wrong with a request, or None."""
        if host is None or not self._knows(host):
            return (
                f"This simulator does not answer to the Host {_shown(host)}, only to {', '.join(sorted(self._exact))}; "
                "streamiter simulate --allow-host NAME adds a name"
            )
        if origin is not None and not self._knows(origin.partition("://")[2]):
            return (
                f"This simulator does not answer pages in a browser, and this request has the Origin {_shown(origin)}; "
                "streamiter simulate --allow-host NAME lets the pages of a host in"
            )
        return None

    def _knows(self, host: str) -> bool:
        host = host.lower()
        return host in self._exact or host.removesuffix(f":{_port_of(host)}") in self._any_port


def complaint_body(complaint: str) -> bytes:
    """The body of the answer, in the form in which clients show it."""
    return msgspec.json.encode({"__type": "com.amazon.coral.service#AccessDeniedException", "message": complaint})


def _port_of(host: str) -> str:
    _, _, port = host.rpartition("]")[2].rpartition(":")
    return port if port.isdecimal() else ""


def _shown(text: str | None) -> str:
    return "(none)" if text is None else ascii(text[:100])
