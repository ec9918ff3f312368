"""Keeps every Python of a docs page on this machine: Python loads it by its name, as it starts (PYTHONPATH leads here).

Whatever asks for another address is refused, and named in the file that STREAMITER_DOCS_REFUSED names.
"""

import ipaddress
import os
import sys

REFUSED = os.environ.get("STREAMITER_DOCS_REFUSED")


def guard(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.bind", "socket.sendto"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None  # a Unix socket has a path
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    else:
        return
    if host is None or is_here(host):
        return
    if REFUSED:
        with open(REFUSED, "a", encoding="utf-8") as file:
            file.write(f"{event} {host}\n")
    raise ConnectionRefusedError(f"the docs' pages stay on this machine: {event} {host}")


def is_here(host: object) -> bool:
    text = host.decode() if isinstance(host, bytes) else str(host)
    try:
        return ipaddress.ip_address(text).is_loopback
    except ValueError:
        return text == "localhost"


sys.addaudithook(guard)
