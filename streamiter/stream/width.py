"""The width: how many calls are worth making side by side; pure.

Side by side calls hide each other's waiting. But Python runs one thread at a time: once the processor is busy all the time,
each further call only takes turns with the others, and taking turns costs as much as a third of the work.
"""

from __future__ import annotations

LEAST = 2  # one call is read out while another waits for the network
WINDOW_US = 50_000  # over how long it is looked at how busy the processor is
BUSY = 0.97  # of the time: more calls side by side bring nothing
IDLE = 0.88  # below it there is waiting that more of them would hide


class Width:
    """As many calls side by side as help, and never more than `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._least = min(most, LEAST)
        self.now = most
        self._busy_us = 0
        self._since_us: int | None = None

    def note(self, busy_us: int, now_us: int) -> None:
        """So long were the calls that ended, and the reader itself, busy since the last time; not counting what they waited."""
        if self._since_us is None:
            self._since_us = now_us
            return
        self._busy_us += busy_us
        passed_us = now_us - self._since_us
        if passed_us < WINDOW_US:
            return
        share = self._busy_us / passed_us
        if share > BUSY:
            self.now = max(self._least, self.now * 2 // 3)
        elif share < IDLE:
            self.now = min(self._most, self.now * 3 // 2 + 1)
        self._since_us, self._busy_us = now_us, 0
