"""The pace: how long a lease lasts without renewal, and all that follows from it."""

from __future__ import annotations

from dataclasses import dataclass

from streamiter.clock import SECOND_US
from streamiter.errors import InvalidOption

# The clocks of two machines may go this much apart: of 5 seconds of the one, the other counts 4 at least.
_MARGIN = 5


@dataclass(frozen=True, slots=True)
class Pace:
    """Times in microseconds of the worker's own clock. docs/leases.md says why they are as they are."""

    failover_us: int = 10 * SECOND_US  # a lease that stood still for so long may be taken by others
    grace_us: int = 30 * SECOND_US  # how long records that are being processed may take, once the worker is to stop
    checkpoint_us: int = SECOND_US  # a checkpoint that moved is written this soon after the write before it
    checkpoint_records: int = 1000  # ... or once so many more records are acked

    def __post_init__(self) -> None:
        if self.failover_us < SECOND_US:
            raise InvalidOption(f"failover is 1 s or more, not {self.failover_us / SECOND_US} s: renewals take time")
        if self.checkpoint_us <= 0 or self.checkpoint_records < 1:
            raise InvalidOption(
                "checkpoints are written every so many seconds, above 0, and every so many records, 1 or more"
            )
        if self.grace_us < 0:
            raise InvalidOption(f"grace is 0 s or more, not {self.grace_us / SECOND_US} s")

    @property
    def valid_us(self) -> int:
        """How long a worker delivers after the moment before it sent its last renewal that succeeded (law 9)."""
        return self.failover_us - self.failover_us // _MARGIN

    @property
    def filling_us(self) -> int:
        """How long a lease that is let go delivers records before others that are acked, so that these do not come again."""
        return min(self.failover_us, self.grace_us // 2)

    @property
    def renew_us(self) -> int:
        """How often leases are renewed, and workers show that they are alive."""
        return self.failover_us // 3

    @property
    def look_us(self) -> int:
        """How often a worker looks at all leases. With a failover's wait, 1.25 failovers from a death to the next hands."""
        return self.failover_us // 4

    @property
    def young_us(self) -> int:
        """A lease that was written so recently is passed over by a round of renewals."""
        return self.failover_us // 12

    @property
    def retry_us(self) -> int:
        """How long to wait before a write whose outcome is not known is tried again."""
        return self.failover_us // 20

    @property
    def overdue_us(self) -> int:
        """A free lease that lay so long beside the worker it was meant for is anyone's."""
        return self.failover_us // 2

    @property
    def leaving_us(self) -> int:
        """A worker that is to stop goes after so long, whatever the store answers: the others wait its leases out."""
        return self.grace_us + self.failover_us

    @property
    def burial_us(self) -> int:
        """A worker's row that stood still for so long is removed."""
        return 3 * self.failover_us
