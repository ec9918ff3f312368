"""Answers: what goes back over the wire, and the faults that change it on the way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

# The next bytes of an answer that goes on, b"" while there are none, None at its end.
Following = Callable[[], bytes | None]

LOOK_SECONDS = 0.02  # how often it is looked whether an answer that goes on has more


@dataclass
class Answer:
    """One answer."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    wait_seconds: float = 0.0  # real ones
    hangs_on: threading.Event | None = None  # nothing is sent before this is set
    is_cut: bool = False  # only half of the body arrives
    is_lost: bool = False  # nothing arrives
    following: Following | None = None  # more of it, after the body

    @property
    def is_at_once(self) -> bool:
        """Whether it is all there, and may be sent now."""
        return self.hangs_on is None and self.wait_seconds <= 0 and self.following is None

    def wait(self, closing: threading.Event) -> None:
        """Until it may be sent, or everything ends."""
        if self.hangs_on is not None:
            while not self.hangs_on.wait(0.1) and not closing.is_set():
                pass
        if self.wait_seconds > 0:
            closing.wait(self.wait_seconds)
