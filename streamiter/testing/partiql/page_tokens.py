"""Page tokens: where the next page of a statement begins, as the text that a client hands back with the same statement."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from streamiter.testing.http.refusal import invalid

_OF_THE_STATEMENT = ("Statement", "Parameters")


def write_token(key: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """The token of a page that ended with this key."""
    return urlsafe_b64encode(_digest(asked) + msgspec.json.encode(key)).decode()


def read_token(token: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What makes a Query or Scan go on there; a refusal where the token is another statement's, or none."""
    try:
        given = urlsafe_b64decode(token)
        own = _digest(asked)
        if given[: len(own)] != own:
            raise ValueError
        return {"ExclusiveStartKey": msgspec.json.decode(given[len(own) :])}
    except (ValueError, msgspec.DecodeError):
        raise invalid("NextToken does not match request") from None


def _digest(asked: Mapping[str, Any]) -> bytes:
    statement = {name: asked.get(name) for name in _OF_THE_STATEMENT}
    return blake2b(msgspec.json.encode(statement, order="sorted"), digest_size=12).digest()
