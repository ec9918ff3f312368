"""Repeats: calls like one that botocore made before, with another body, without what botocore works out anew for each.

That takes nine tenths of botocore's time: endpoint rules, events, headers, the text that is signed. The first call of a kind
goes by botocore, and so does one each minute; what it sent is the pattern (pattern.py) for the next ones. A call that follows
the pattern is signed, and sent over one of botocore's own connections. If none is free, if anything about the client changed,
or if botocore's log is kept, botocore makes the call. If the answer is not a plain success, botocore takes it as if it
had made the call itself: errors and repeated attempts are its own.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec
from botocore.compat import get_current_datetime
from botocore.validate import ParamValidator

from streamiter.source import wire
from streamiter.source.exchange import OddReplyError, Reply, exchange
from streamiter.source.pattern import Pattern, credentials_of, is_same, pattern_of, way_of

LASTS = timedelta(seconds=60)  # how long botocore is not asked again what a call looks like
_logger = logging.getLogger("botocore")
_validate = ParamValidator().validate
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Repeats:
    """Makes the calls of one source, by its client or without it."""

    def __init__(self, client: Any, event: str) -> None:
        """`event` as botocore's events name the service."""
        self._client = client
        self._event = event
        self._patterns: dict[str, Pattern | None] = {}  # by method; None: this client's calls cannot be repeated
        self._looked: dict[str, datetime] = {}  # when each was looked for

    def call(self, method: str, **asked: Any) -> Mapping[str, Any]:
        """Makes a call of ours: `client.method(**asked)`."""
        answer, now = wire.current(), get_current_datetime()
        is_plain = answer is not None and all(type(value) in (str, int) for value in asked.values())
        is_known = method in self._looked and self._looked[method] <= now < self._looked[method] + LASTS
        pattern = self._patterns.get(method) if is_plain and is_known else None
        reply = None if pattern is None else self._repeat(pattern, method, asked, now)
        if answer is None or reply is None or reply.status != 200:
            if answer is not None:
                answer.reply = reply
            response: Mapping[str, Any] = getattr(self._client, method)(**asked)
            if is_plain and not is_known and answer is not None:
                self._learn(method, asked, answer.sent, now)
            return response
        answer.take(reply.body, reply.headers, method)
        told = {"ResponseMetadata": {"HTTPStatusCode": reply.status, "HTTPHeaders": reply.headers}}
        return told if answer.decode is not None else told | _decode(reply.body)

    def _repeat(self, pattern: Pattern, method: str, asked: Mapping[str, Any], now: datetime) -> Reply | None:
        """Makes the call as the pattern has it; None where botocore has to make it."""
        if _logger.isEnabledFor(logging.DEBUG) or not is_same(pattern.way, way_of(self._client, method)):
            return None
        if pattern.credentials != credentials_of(self._client) or self._is_invalid(method, asked):
            return None
        try:
            return exchange(pattern.pool, pattern.url, pattern.message(json.dumps(asked).encode(), now))
        except OddReplyError:
            self._patterns[method] = None
            return None

    def _is_invalid(self, method: str, asked: Mapping[str, Any]) -> bool:
        """Whether botocore would refuse the call before it is made."""
        meta = self._client.meta
        model = meta.service_model.operation_model(meta.method_to_api_mapping[method])
        return bool(_validate(asked, model.input_shape).has_errors())

    def _learn(self, method: str, asked: Mapping[str, Any], sent: list[Any], now: datetime) -> None:
        """Takes the call that botocore just made for a pattern."""
        self._looked[method] = now
        try:
            event = f"{self._event}.{self._client.meta.method_to_api_mapping[method]}"
            pattern = pattern_of(self._client, event, method, asked, sent[0]) if len(sent) == 1 else None
        except (
            AttributeError,
            TypeError,
            LookupError,
            ValueError,
        ):  # another build of botocore, or no client of its kind
            pattern = None
        self._patterns[method] = pattern
