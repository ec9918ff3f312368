"""Options: what a user passes, checked, with messages that say what would do."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from streamiter.clock import Clock, SystemClock, microseconds
from streamiter.errors import InvalidOption
from streamiter.stream.events import Event
from streamiter.stream.model import RAW, Model

if TYPE_CHECKING:
    from streamiter.source.base import Source

PREFETCH_BYTES = 64 * 1024 * 1024


class Options(TypedDict, total=False):
    """The options that streams of all records have in common; `Stream` says what they mean."""

    lateness: float | Literal["auto"] | None
    on_gap: Literal["raise", "skip"]
    concurrency: int
    prefetch_bytes: int
    poll_interval: float | Literal["auto"]
    patience: float
    clock: Clock | None
    on_event: Callable[[Event], Any] | None


class AsyncOptions(Options, total=False):
    """The options of Stream, and one that only an AsyncStream has."""

    inline: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """A stream's options, in the units used inside."""

    clock: Clock
    model: Model | None
    is_raw: bool
    on_event: Callable[[Event], Any] | None
    lateness: float | Literal["auto"] | None
    poll_interval: float | Literal["auto"]
    patience_seconds: float
    skips_gaps: bool
    concurrency: int
    prefetch_bytes: int

    @classmethod
    def checked(
        cls,
        *,
        lateness: float | Literal["auto"] | None = "auto",
        on_gap: Literal["raise", "skip"] = "raise",
        concurrency: int = 64,
        prefetch_bytes: int = PREFETCH_BYTES,
        poll_interval: float | Literal["auto"] = "auto",
        patience: float = 60.0,
        model: type[Any] | Callable[..., Any] | None = None,
        clock: Clock | None = None,
        on_event: Callable[[Event], Any] | None = None,
    ) -> Settings:
        """What was passed; InvalidOption names what is wrong with it."""
        check_seconds("lateness", lateness, may_be_none=True, may_be_auto=True)
        check_seconds("poll_interval", poll_interval, may_be_auto=True)
        check_seconds("patience", patience)
        check_count("concurrency", concurrency)
        check_count("prefetch_bytes", prefetch_bytes)
        check_choice("on_gap", on_gap, ("raise", "skip"))
        check_clock(clock)
        check_listener(on_event)
        return cls(
            clock=SystemClock() if clock is None else clock,
            model=None if model is None or model is RAW else Model(model),
            is_raw=model is RAW,
            on_event=on_event,
            lateness=lateness,
            poll_interval=poll_interval,
            patience_seconds=patience,
            skips_gaps=on_gap == "skip",
            concurrency=concurrency,
            prefetch_bytes=prefetch_bytes,
        )

    @property
    def patience_us(self) -> int:
        """How long calls may keep failing."""
        return microseconds(self.patience_seconds)

    @property
    def holds(self) -> bool:
        """Whether records wait for those of other shards."""
        return self.lateness is not None

    def poll_us_of(self, source: Source) -> int:
        """How soon a shard of this source is looked at again at its tip."""
        seconds = source.poll_interval if self.poll_interval == "auto" else self.poll_interval
        return max(1, microseconds(seconds))

    def model_of(self, source: Source) -> Model | None:
        """What makes values of the source's records: the caller's word goes before the source's own."""
        if self.model is None and not self.is_raw and source.model is not None:
            return Model(source.model)
        return self.model

    def calls_of(self, source: Source) -> int:
        """The most calls at once of a source."""
        return min(self.concurrency, source.connections)


def check_seconds(name: str, value: Any, *, may_be_none: bool = False, may_be_auto: bool = False) -> None:
    """A number of seconds from 0 up."""
    if (value is None and may_be_none) or (may_be_auto and isinstance(value, str) and value == "auto"):
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


def check_listener(on_event: Any) -> None:
    """None, or a function."""
    if on_event is not None and not callable(on_event):
        raise InvalidOption(f"on_event= takes a function of one event, not a {type(on_event).__name__}")
