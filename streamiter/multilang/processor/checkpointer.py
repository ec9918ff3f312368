"""The checkpointer: asks the daemon to keep a place, reads its answer, and tries again while the table is throttled."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from streamiter.clock import Clock
from streamiter.errors import CheckpointFailed, InvalidOption
from streamiter.multilang.processor.pipe import DaemonGone, Pipe
from streamiter.multilang.processor.record import Record
from streamiter.multilang.wire import Answer, Ask, Form, ToChild, to_daemon

logger = logging.getLogger("streamiter.multilang")

Place = tuple[str | None, int | None]

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 8.0


class Checkpointer:
    """Keeps a place of the shard. After a restart, or in another worker, the records behind it come again.

    Any thread may ask it for a checkpoint while the processor works on an action of the daemon.
    """

    def __init__(self, pipe: Pipe, read: Callable[[], ToChild | None], clock: Clock, patience: float) -> None:
        self._pipe = pipe
        self._read = read
        self._clock = clock
        self._patience = patience
        self._lock = threading.Lock()
        self.form = Form.NEWER
        self._is_open = False
        self.is_lease_lost = False
        self.taken: list[Place] = []  # of the action under way, in their order

    @contextmanager
    def open(self) -> Iterator[None]:
        """Inside this block an action is under way: the daemon listens, and `taken` counts anew."""
        self.taken.clear()
        self._is_open = True
        try:
            yield
        finally:
            self.close()

    def close(self) -> None:
        """No more checkpoints until the next action. One that another thread is asking for is waited for."""
        with self._lock:
            self._is_open = False

    def checkpoint(
        self, sequence_number: Record | str | int | None = None, sub_sequence_number: int | None = None
    ) -> None:
        """Keeps the place behind a record, or behind a number; without either, behind all records that were given.

        A number without a sub-sequence number is the first of the records that were packed under it: the others come again.
        While the daemon's table is throttled it is tried again, for up to `patience` seconds. CheckpointFailed says what the
        daemon had against it.
        """
        place = _place(sequence_number, sub_sequence_number)
        waited, pause = 0.0, FIRST_PAUSE
        while True:
            error = self._ask(place)
            if error is None:
                return
            failed = CheckpointFailed(error, _told(place))
            self.is_lease_lost |= failed.is_lease_lost
            if not failed.is_passing or waited + pause > self._patience:
                raise failed
            logger.warning("the daemon took no checkpoint: %s; it is tried again in %.1f s", error, pause)
            self._clock.sleep(pause)
            waited, pause = waited + pause, min(2 * pause, LONGEST_PAUSE)

    def _ask(self, place: Place) -> str | None:
        """Asks once. Threads take turns: an answer belongs to the question before it."""
        with self._lock:
            if not self._is_open:
                raise CheckpointFailed("InvalidStateException", _told(place))
            self._pipe.write(to_daemon(Ask(*place), self.form))
            answer = self._read()
            if answer is None:
                raise DaemonGone("streamiter: the daemon is gone; this child ends")
            if not isinstance(answer, Answer):
                raise CheckpointFailed("InvalidStateException", _told(place))
            if answer.error is None:
                self.taken.append(place)
            return answer.error


def _place(number: Record | str | int | None, sub: int | None) -> Place:
    if isinstance(number, Record):
        if not number.sequence_number:
            raise InvalidOption(
                f"{number!r} has no place that could be kept: keep that of a record before or behind it"
            )
        return number.sequence_number, number.sub_sequence_number
    if number is not None and (isinstance(number, bool) or not isinstance(number, str | int)):
        raise InvalidOption(f"a checkpoint is at a record, or at its number, not at a {type(number).__name__}")
    return None if number is None else str(number), sub


def _told(place: Place) -> str:
    number, sub = place
    return "the last record given" if number is None else f"{number}.{sub}" if sub else number
