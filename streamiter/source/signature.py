"""Signatures: AWS's Signature Version 4 of a call, whose head is the same each time and whose body and time change.

botocore works all of it out anew for each call, header by header. Here what stays the same is kept as text, and the signing key
for as long as it is valid, which is a day.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

_ALGORITHM = "AWS4-HMAC-SHA256"
_AUTHORIZATION = re.compile(
    rf"{_ALGORITHM} Credential=(?P<key>[^/,\s]+)/\d{{8}}/(?P<region>[^/,\s]+)/(?P<service>[^/,\s]+)/aws4_request, "
    r"SignedHeaders=(?P<names>[a-z0-9;-]+), Signature=[0-9a-f]{64}"
)


class Signer:
    """Signs calls that differ from each other by their body and their time alone."""

    def __init__(self, scope: Scope, secret: str, canonical: tuple[str, str]) -> None:
        self._scope = scope
        self._secret = secret
        self._canonical = canonical  # the canonical request before and after the time
        self._key = "", b""  # the day, and its key

    def authorization(self, stamp: str, body: bytes) -> str:
        """The header of that name, for a body sent at this time, such as 20260115T120000Z."""
        scope, day = self._scope, stamp[:8]
        before, after = self._canonical
        request = f"{before}{stamp}{after}{sha256(body).hexdigest()}"
        place = f"{day}/{scope.region}/{scope.service}/aws4_request"
        told = f"{_ALGORITHM}\n{stamp}\n{place}\n{sha256(request.encode()).hexdigest()}"
        signature = hmac.digest(self._key_of(day), told.encode(), "sha256").hex()
        return f"{_ALGORITHM} Credential={scope.access_key}/{place}, SignedHeaders={scope.names}, Signature={signature}"

    def _key_of(self, day: str) -> bytes:
        known, key = self._key  # read and written as one: several threads sign at once
        if known != day:
            key = f"AWS4{self._secret}".encode()
            for part in (day, self._scope.region, self._scope.service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._key = day, key
        return key


class Scope(NamedTuple):
    """Who signs, where, and which headers."""

    access_key: str
    region: str
    service: str
    names: str  # as they stand in the header, with semicolons between


def scope_of(authorization: str) -> Scope | None:
    """The scope that a header tells; None where it is none of this kind."""
    found = _AUTHORIZATION.fullmatch(authorization)
    return None if found is None else Scope(found["key"], found["region"], found["service"], found["names"])


def signer(scope: Scope, secret: str, path: str, headers: Mapping[str, str]) -> Signer | None:
    """Signs calls to this path with these headers, lower-case; None where they lack one that is signed, or their time."""
    names = scope.names.split(";")
    if names.count("x-amz-date") != 1 or not headers.keys() >= set(names):
        return None
    at = names.index("x-amz-date")
    before = "".join(f"{name}:{_plain(headers[name])}\n" for name in names[:at])
    after = "".join(f"{name}:{_plain(headers[name])}\n" for name in names[at + 1 :])
    return Signer(scope, secret, (f"POST\n{path}\n\n{before}x-amz-date:", f"\n{after}\n{scope.names}\n"))


def _plain(value: str) -> str:
    """A header's value as it is signed."""
    return " ".join(value.split())
