"""The life of a table's stream: enabling takes a while; a day after it was disabled, the service forgets it."""

from __future__ import annotations

from typing import Literal

Status = Literal["ENABLING", "ENABLED", "DISABLING", "DISABLED"]


class Life:
    """The times at which a stream changes its status."""

    def __init__(self, created_us: int, ready_us: int) -> None:
        self.created_us = created_us
        self._ready_us = ready_us
        self._disabled_us: int | None = None
        self._disabling_until_us = 0

    def end(self, now_us: int, takes_us: int) -> None:
        """It is disabled, which takes a while."""
        self._disabled_us = now_us
        self._disabling_until_us = now_us + takes_us

    @property
    def has_ended(self) -> bool:
        return self._disabled_us is not None

    def status(self, now_us: int) -> Status:
        """Where it stands."""
        if self._disabled_us is not None:
            return "DISABLED" if now_us >= self._disabling_until_us else "DISABLING"
        return "ENABLED" if now_us >= self._ready_us else "ENABLING"

    def is_over(self, now_us: int, retention_seconds: float) -> bool:
        """Whether it was disabled so long ago that the service does not know it any more."""
        return self._disabled_us is not None and now_us - self._disabled_us >= retention_seconds * 1e6
