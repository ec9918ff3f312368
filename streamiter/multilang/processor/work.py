"""The work on one shard in this child: which action may come when, what the processor does in it, and the checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import Enum
from typing import Final, cast

from streamiter.clock import Clock
from streamiter.errors import CheckpointFailed, InvalidOption, UnknownMessage
from streamiter.multilang import wire
from streamiter.multilang.processor.checkpointer import Checkpointer
from streamiter.multilang.processor.forms import Hooks
from streamiter.multilang.processor.record import Batch, ChildLease, LastCall, Record

logger = logging.getLogger("streamiter.multilang")

NEVER: Final = "never"
EACH_BATCH: Final = "batch"

Checkpoints = str | float | None


class Stage(Enum):
    """How far the conversation is."""

    NEW = "waits for initialize"
    READING = "gets records"
    LEAVING = "was asked to leave"
    OVER = "waits for the end of input"


_ENDS: Final[Mapping[type[wire.Action], Stage]] = {
    wire.ShardEnded: Stage.OVER,
    wire.LeaseLost: Stage.OVER,
    wire.Shutdown: Stage.OVER,
}

#: From which stages each action may come, and to which stage it leads. The end of input may come at any time.
MOVES: Final[Mapping[Stage, Mapping[type[wire.Action], Stage]]] = {
    Stage.NEW: {wire.Initialize: Stage.READING},
    Stage.READING: {wire.ProcessRecords: Stage.READING, wire.ShutdownRequested: Stage.LEAVING, **_ENDS},
    Stage.LEAVING: {wire.ProcessRecords: Stage.READING, wire.ShutdownRequested: Stage.LEAVING, **_ENDS},
    Stage.OVER: {},
}


class Work:
    """One shard in this child. `do` raises the processor's error, and then the action must not be answered.

    If the daemon says that another worker has the lease, the processor's error about it is no failure: leaseLost follows.
    """

    def __init__(self, hooks: Hooks, checkpointer: Checkpointer, checkpoint: Checkpoints, clock: Clock) -> None:
        self._hooks = hooks
        self.stage = Stage.NEW
        self._checkpointer = checkpointer
        self._checkpoints = NEVER if checkpoint is None and hooks.keeps_places else checkpoint or EACH_BATCH
        self._clock = clock
        self._lease = ChildLease("", None, None)
        self._unsaved: Record | None = None  # the last record that was processed, until its place is kept
        self._saved_at = clock.monotonic()

    def do(self, action: wire.Action) -> None:
        """Does the action; when this returns, it is done."""
        self._enter(action)
        try:
            with self._checkpointer.open():
                self._do(action)
        except CheckpointFailed as failed:
            if not failed.is_lease_lost:
                raise
            logger.warning("shard %s: another worker has the lease; its records come again there", self._lease.key)

    def _enter(self, action: wire.Action) -> None:
        name = wire.NAMES[type(action)]
        to = MOVES[self.stage].get(type(action))
        if to is None:
            raise UnknownMessage(f"the daemon sent {name} while this child {self.stage.value}; the child ends")
        if isinstance(action, wire.ProcessRecords) and self._checkpointer.is_lease_lost:
            raise UnknownMessage("the daemon sent records though it had said that the lease is lost; the child ends")
        self.stage = to

    def _do(self, action: wire.Action) -> None:
        match action:
            case wire.Initialize():
                self._lease = ChildLease(action.shard_id, action.sequence_number, action.sub_sequence_number)
                self._hooks.initialize(self._lease)
                self._saved_at = self._clock.monotonic()
            case wire.ProcessRecords():
                self._process(action)
            case wire.ShutdownRequested():
                self._hooks.shutdown_requested(LastCall(self._checkpointer, "REQUESTED"))
                self._note_taken()
                if self._checkpoints != NEVER:
                    self._save("before it leaves")
            case wire.LeaseLost() | wire.Shutdown(reason="ZOMBIE"):
                self._checkpointer.close()  # the daemon would refuse it
                self._hooks.lease_lost(LastCall(self._checkpointer, "ZOMBIE"))
            case wire.ShardEnded() | wire.Shutdown():
                self._end_shard()

    def _process(self, action: wire.ProcessRecords) -> None:
        records = cast("list[Record]", action.records)  # made by the processor's `record_type`
        batch = Batch(records, self._lease, action.millis_behind_latest, self._checkpointer)
        last = batch[-1] if batch else None
        self._hooks.process(batch)
        if last is not None and last.sequence_number:
            self._unsaved = last
        self._note_taken()
        if self._is_due():
            self._save("behind a batch")

    def _is_due(self) -> bool:
        if self._checkpoints == NEVER:
            return False
        return self._checkpoints == EACH_BATCH or self._clock.monotonic() - self._saved_at >= float(
            self._checkpoints or 0
        )

    def _note_taken(self) -> None:
        """Notes whether the processor itself kept the last place."""
        last, taken = self._unsaved, self._checkpointer.taken
        if taken:
            self._saved_at = self._clock.monotonic()
            place = None if last is None else (last.sequence_number, last.sub_sequence_number)
            if taken[-1][0] is None or taken[-1] == place:
                self._unsaved = None

    def _save(self, when: str) -> None:
        if self._unsaved is None:
            return
        try:
            self._checkpointer.checkpoint(self._unsaved)
        except CheckpointFailed as failed:
            if not failed.is_passing:
                raise
            logger.warning("shard %s: no checkpoint %s: %s", self._lease.key, when, failed)
            return
        self._unsaved = None
        self._saved_at = self._clock.monotonic()

    def _end_shard(self) -> None:
        self._hooks.shard_ended(LastCall(self._checkpointer, "TERMINATE"))
        if not any(number in (None, "SHARD_END") for number, _ in self._checkpointer.taken):
            self._checkpointer.checkpoint()  # without it, the shard's children never start


def check_checkpoints(checkpoint: Checkpoints) -> None:
    """Raises InvalidOption unless it is "batch", "never", or a number of seconds."""
    if isinstance(checkpoint, int | float) and not isinstance(checkpoint, bool):
        is_right = checkpoint > 0
    else:
        is_right = checkpoint is None or checkpoint in (EACH_BATCH, NEVER)
    if not is_right:
        raise InvalidOption(f"checkpoint= is 'batch', 'never' or a number of seconds, not {checkpoint!r}")
