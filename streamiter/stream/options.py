"""Options: checks of what a user passes, with messages that say what would do."""

from __future__ import annotations

import math
from typing import Any

from streamiter.errors import InvalidOption


def check_seconds(name: str, value: Any, *, may_be_none: bool = False) -> None:
    """A number of seconds from 0 up."""
    if value is None and may_be_none:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0:
        raise InvalidOption(f"{name}= takes seconds from 0 up{', or None' if may_be_none else ''}, not {value!r}")


def check_count(name: str, value: Any) -> None:
    """A whole number from 1 up."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidOption(f"{name}= takes a whole number from 1 up, not {value!r}")


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """One of a few values."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise InvalidOption(f"{name}= takes {' or '.join(map(repr, choices))}, not {value!r}")


def check_clock(clock: Any) -> None:
    """None, or something with now(), monotonic() and sleep(seconds)."""
    if clock is None:
        return
    missing = [name for name in ("now", "monotonic", "sleep") if not callable(getattr(clock, name, None))]
    if missing:
        raise InvalidOption(f"clock= takes an object with now(), monotonic() and sleep(); it has no {missing[0]}()")
