"""Request tokens: a transaction that is sent again, as SDKs do when an answer was lost, is the same one for ten minutes."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from streamiter.clock import SECOND_US
from streamiter.testing.http.refusal import Refusal

LIFE_US = 600 * SECOND_US

# What may differ when a request is sent again: it asks for more of the answer, not for another change.
_OF_THE_ANSWER = {"ClientRequestToken", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics"}


class _Done(NamedTuple):
    since_us: int
    request: bytes  # a digest
    answer: dict[str, Any]


class RequestTokens:
    """The transactions that succeeded of late, by operation and token."""

    def __init__(self) -> None:
        self._done: dict[tuple[str, str], _Done] = {}  # the oldest first

    def answer(self, operation: str, body: Mapping[str, Any], now_us: int) -> dict[str, Any] | None:
        """The answer that this request had already; a refusal where its token was another request's."""
        self._forget(now_us)
        token = body.get("ClientRequestToken")
        done = None if token is None else self._done.get((operation, token))
        if done is None:
            return None
        if done.request != _digest(body):
            raise Refusal(
                "IdempotentParameterMismatchException",
                "The request uses the same client token as a previous, but non-identical request.",
            )
        return done.answer

    def note(self, operation: str, body: Mapping[str, Any], answer: dict[str, Any], now_us: int) -> None:
        """A request succeeded."""
        token = body.get("ClientRequestToken")
        if token is not None:
            self._done[operation, token] = _Done(now_us, _digest(body), answer)

    def _forget(self, now_us: int) -> None:
        while self._done:
            oldest = next(iter(self._done))
            if now_us - self._done[oldest].since_us < LIFE_US:
                return
            del self._done[oldest]


def _digest(body: Mapping[str, Any]) -> bytes:
    asked = {name: value for name, value in body.items() if name not in _OF_THE_ANSWER}
    return blake2b(msgspec.json.encode(asked, order="sorted"), digest_size=16).digest()
