"""Requests: what a client asked, over whichever HTTP, and the limits that hold for all of it."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_HEAD = 64 * 1024
MAX_BODY = 16 * 1024 * 1024
HEALTHY = b"healthy: dynamodb.simulator\n"  # the answer to a health check

_SCOPE = re.compile(r"Credential=[^,/]*/\d{8}/([\w-]{1,64})/")


class Request(NamedTuple):
    """One request. Of a field that came several times the last one counts."""

    method: str
    headers: dict[str, str]  # names in lower case; HTTP/2's :authority is the host
    body: bytes

    @property
    def signed_region(self) -> str | None:
        """The region in a signature's scope, `Credential=KEY/20260101/REGION/dynamodb/...`; signatures are not verified."""
        found = _SCOPE.search(self.headers.get("authorization", ""))
        return found[1] if found else None


class BadRequest(Exception):
    """Not the HTTP that we speak; the connection ends, with a status that says why."""

    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status
