"""By hand: what a processor says itself of its lease that keeps its own checkpoint: where it stands, that it is through, gone.

Its records are acked when it has taken them, and are held no longer: the checkpoint stands where it said. Where it fails, the
lease is read again from there.
"""

from __future__ import annotations

from streamiter.lease.hold import RENEWED, Stage
from streamiter.lease.holdings import Holdings
from streamiter.lease.lease import Lease
from streamiter.lease.ledger import Ledger
from streamiter.lease.timers import Timer


class ByHand:
    """The events of processors that keep their own checkpoints (`Order.by_hand`)."""

    def __init__(self, holdings: Holdings, ledger: Ledger) -> None:
        self._holdings = holdings
        self._ledger = ledger

    def standing(self, key: str, fence: int) -> Lease | None:
        """The lease as it is to be written next; None where it is ours no more."""
        hold = self._holdings.at(key, fence)
        return None if hold is None else hold.as_it_is

    def written(self, key: str, fence: int) -> str | None:
        """The checkpoint that is known to stand in the store; None where the lease is ours no more."""
        hold = self._holdings.at(key, fence)
        return None if hold is None or hold.stage not in RENEWED else hold.lease.checkpoint

    def is_read(self, key: str, fence: int) -> bool:
        """Whether the shard was read to its end, and every record acked: the processor is to be told of the end."""
        hold = self._holdings.at(key, fence)
        return hold is not None and hold.pipeline.is_read

    def placed(self, key: str, fence: int, checkpoint: str, order_us: int | None, now_us: int) -> None:
        """The checkpoint stands here from now on; it is written at once."""
        hold = self._holdings.at(key, fence)
        if hold is not None:
            hold.pipeline.put(checkpoint, order_us)
            self._holdings.checkpoint(key, now_us)

    def finished(self, key: str, fence: int, now_us: int) -> None:
        """The processor is through with the shard, whose end it was told."""
        hold = self._holdings.at(key, fence)
        if hold is not None:
            hold.pipeline.is_through = True
            self._holdings.go_on(hold, now_us)

    def parted(self, key: str, fence: int, now_us: int) -> None:
        """The processor has ended, as the lease is let go."""
        hold = self._holdings.at(key, fence)
        if hold is not None:
            hold.pipeline.abandon()
            self._holdings.go_on(hold, now_us)

    def failed(self, key: str, fence: int, again_us: int, now_us: int) -> None:
        """The processor failed: what it did not checkpoint is read again, from that moment on."""
        hold = self._holdings.at(key, fence)
        if hold is None or hold.stage is not Stage.HELD:
            self.parted(key, fence, now_us)
            return
        self._ledger.timers.cancel(Timer.AGAIN, key)
        hold.begin_anew()
        hold.pipeline.is_fetching = True
        self._ledger.timers.set(Timer.FETCH, again_us, key)
