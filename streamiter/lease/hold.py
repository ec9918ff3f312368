"""A hold: one lease in this worker's hands, from the attempt to take it until it is let go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple

from streamiter.lease.lease import GAP, NOTHING, ORDER, QUARANTINE, SOURCE, TIP, Lease
from streamiter.lease.pace import Pace
from streamiter.lease.pipeline import Pipeline
from streamiter.lease.ways import Order
from streamiter.lease.wishes import WriteLease
from streamiter.shard import Shard


class Stage(Enum):
    """What a hold is about to do."""

    TAKING = auto()  # the write that takes the lease is under way
    HELD = auto()  # ours: records are fetched and delivered
    DRAINING = auto()  # ours, to be let go: no new deliveries, those that are out may finish
    ENDING = auto()  # ours, every record of the shard acked: its children's leases are to be written first
    RELEASING = auto()  # the write that lets it go is under way
    COMPLETING = auto()  # the write that says that the shard is done is under way


# All moves that there are. Any stage may also end: when the lease is lost, or the last write is answered.
MOVES: dict[Stage, frozenset[Stage]] = {
    Stage.TAKING: frozenset({Stage.HELD}),
    Stage.HELD: frozenset({Stage.DRAINING, Stage.ENDING}),
    Stage.DRAINING: frozenset({Stage.RELEASING, Stage.HELD}),  # HELD: what is out hangs, and nothing forces us
    Stage.ENDING: frozenset({Stage.DRAINING, Stage.COMPLETING}),
    Stage.RELEASING: frozenset(),
    Stage.COMPLETING: frozenset(),
}
RENEWED = frozenset({Stage.HELD, Stage.DRAINING, Stage.ENDING})  # what a round of renewals writes
KEPT = frozenset({Stage.TAKING, Stage.HELD, Stage.ENDING})  # what counts as this worker's in the balance

# What a row is to say of the work on its lease, made of: how many records are acked since it was taken; the first that is
# here and not acked, or None.
Work = Callable[[int, Any], Mapping[str, Any]]


@dataclass(slots=True)
class Attempt:
    """A write of this lease's row whose outcome is not known yet."""

    wish: WriteLease
    sent_us: int
    first_us: int  # when it was first sent, where no answer came: it may have happened then
    tries: int = 1


class Hung(NamedTuple):
    """Why a lease that another worker asked for was kept: its processor took too long."""

    last: int  # the last record that was out when the time was up
    taker: str | None  # the worker that asked for it


class Hold:
    """One lease, its stage, its pipeline, and until when this worker may deliver."""

    def __init__(self, lease: Lease, order: Order) -> None:
        self.lease = lease  # as it stands, by all we know
        self.stage = Stage.TAKING
        self._order = order
        self._began_at = lease.checkpoint
        self.attempt: Attempt | None = None
        self.pipeline = Pipeline(lease.checkpoint, order)
        self.pipeline.order_us = lease.progress.get(ORDER)
        self.valid_from_us: int | None = None  # the moment before the last write that succeeded was sent (law 9)
        self.told: Mapping[str, Any] = NOTHING  # what its owner's work is like, for people who read the row
        self.promised: str | None = None  # the worker that it is handed over to
        self.hung: Hung | None = None  # it could not be handed over, and what hung is still out
        self.is_begun = False  # whether the processor was told
        self.is_end_told = False  # whether its end was noted, and its children are looked for
        self.told_children: tuple[Shard, ...] = ()  # what the shard's last page said of its children
        self.knows_children = False  # whether the shard's children are listed, or known to be none

    @property
    def key(self) -> str:
        """The lease's key."""
        return self.lease.key

    def keeper(self, me: str) -> str | None:
        """Who has the lease in the balance: we, the worker that gets it from us, or nobody."""
        return me if self.stage in KEPT else self.promised

    @property
    def can_be_given(self) -> bool:
        """Whether it can be handed over."""
        return self.stage is Stage.HELD and self.hung is None

    def begin_anew(self) -> None:
        """What was delivered, and does not lie before the checkpoint, is forgotten: it is to be read again."""
        before = self.pipeline
        after = self.pipeline = Pipeline(before.checkpoint, self._order)
        after.gap, after.quarantine, after.order_us, after.tip_us = (
            before.gap,
            before.quarantine,
            before.order_us,
            before.tip_us,
        )

    @property
    def as_it_is(self) -> Lease:
        """The lease as it is to be written now."""
        pipeline = self.pipeline
        checkpoint = pipeline.checkpoint
        told = {GAP: pipeline.gap, QUARANTINE: pipeline.quarantine, TIP: pipeline.tip_us, ORDER: pipeline.order_us}
        if checkpoint != self._began_at:  # else it may be a place of one that was here before
            told[SOURCE] = self._order.source
        return self.lease.noting(**self.told, **told)._replace(checkpoint=checkpoint)

    def move(self, stage: Stage) -> None:
        """Goes on to another stage; one that the table does not have is an error of ours."""
        if stage not in MOVES[self.stage]:
            raise AssertionError(f"a hold of {self.key} cannot go from {self.stage.name} to {stage.name}")
        self.stage = stage

    def hang(self) -> None:
        """What is out had time enough to finish, and did not: the lease is kept."""
        self.hung = Hung(self.pipeline.last_out, self.promised)
        self.keep()

    def keep(self) -> None:
        """It is not let go after all."""
        self.promised = None
        self.pipeline.keep()
        self.move(Stage.HELD)

    def is_valid(self, now_us: int, pace: Pace) -> bool:
        """Whether no other worker can have taken the lease by now, by our own clock (law 9)."""
        return self.valid_from_us is not None and now_us < self.valid_from_us + pace.valid_us

    def may_deliver(self, number: int | None) -> bool:
        """Whether records may be delivered in this stage; or at least the one of this number. Any thread may ask."""
        fills_hole = self.stage is Stage.DRAINING and number is not None and self.pipeline.is_hole(number)
        return self.stage is Stage.HELD or fills_hole

    def is_mine(self, standing: Lease | None, me: str) -> bool:
        """Whether a row that stands is still this hold's: each change of hands raises the fence."""
        wanted = self.attempt.wish.lease.fence if self.attempt is not None else self.lease.fence
        return standing is not None and standing.owner == me and standing.fence == wanted
