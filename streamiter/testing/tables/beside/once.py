"""Once: a request that starts something, sent again with its ClientToken within eight hours, starts nothing anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamiter.clock import SECOND_US
from streamiter.testing.http.refusal import Refusal

_LIFE_US = 8 * 3600 * SECOND_US


class Once:
    """The requests that had a token; `conflict` is the name of the refusal of one that asks for something else."""

    def __init__(self, conflict: str) -> None:
        self._conflict = conflict
        self._begun: dict[str, tuple[int, Mapping[str, Any], str]] = {}  # by token: since when, the request, what began

    def begun(self, body: Mapping[str, Any], now_us: int) -> str | None:
        """What this request began already."""
        since_us, asked, arn = self._begun.get(body.get("ClientToken", ""), (-_LIFE_US, body, ""))
        if now_us - since_us >= _LIFE_US:
            return None
        if asked != body:
            told = "The request uses the same client token as a previous, but non-identical request."
            raise Refusal(self._conflict, told)
        return arn

    def note(self, body: Mapping[str, Any], now_us: int, arn: str) -> None:
        """This request began something."""
        if "ClientToken" in body:
            self._begun[body["ClientToken"]] = (now_us, body, arn)
