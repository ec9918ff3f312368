"""The lease in a processor's hands: which shard it reads, the fence for its effects, and how long it is certain."""

from __future__ import annotations

from collections.abc import Callable

from streamiter.clock import SECOND_US


class HeldLease:
    """A lease, as its processor sees it.

    A sink that keeps the greatest `fence` it saw can refuse the writes of a former owner.
    """

    __slots__ = ("_deadline_us", "fence", "key", "owner")

    def __init__(self, key: str, fence: int, owner: str, deadline_us: Callable[[], int]) -> None:
        self.key = key
        """The shard's id, or "total" with order="total"."""
        self.fence = fence
        """Rises with each change of hands."""
        self.owner = owner
        """The worker."""
        self._deadline_us = deadline_us

    @property
    def deadline(self) -> float:
        """Until this time no other worker can have the lease, in seconds of the app's own clock (`app.clock.monotonic()`)."""
        return self._deadline_us() / SECOND_US

    def __repr__(self) -> str:
        return f"<HeldLease {self.key}, fence {self.fence}>"
