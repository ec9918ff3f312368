"""Answers: what moto's handler gives, as the service's JSON has it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from streamiter.testing.truth.images import plain_digits


def tidy(value: Any) -> Any:
    """An answer as JSON has it: moments in seconds, numbers as plain digits, and no members without a value."""
    if isinstance(value, dict):
        if value.keys() == {"N"} and isinstance(value["N"], str):
            return {"N": plain_digits(value["N"])}
        return {name: tidy(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [tidy(inner) for inner in value]
    return value.timestamp() if isinstance(value, datetime) else value


def words(message: str) -> str:
    """A refusal's message without the beginning that moto puts before what the service says of an expression."""
    return message.replace("1 validation error detected: Invalid", "Invalid", 1)
