"""A daemon in memory: the judge of `--try` at the other end of a conversation, without processes, pipes or time that passes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from streamiter.multilang import Batch, ChildLease, wire
from streamiter.multilang.processor.conversation import Conversation
from streamiter.multilang.processor.running import PATIENCE, hooks_from
from streamiter.multilang.trying.judge import Judge, Wishes
from streamiter.multilang.trying.script import FIRST_NUMBER, SHARD, Scenario, Step


class HandClock:
    """It moves when it is slept on."""

    def __init__(self) -> None:
        self.at = 0.0
        self.pauses: list[float] = []

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.at += seconds


class JudgePipe:
    """What the child writes, the judge hears; what it wishes to send, the child reads."""

    def __init__(self, judge: Judge, clock: HandClock) -> None:
        self.judge = judge
        self.clock = clock
        self.written: list[bytes] = []
        self._lines: deque[bytes] = deque()
        self._is_over = False
        self._do(judge.begin(clock.at))

    def _do(self, wishes: Wishes) -> None:
        self._lines.extend(line + b"\n" for line in wishes.send.split(b"\n")[:-1])
        self._is_over |= wishes.end_input

    def read(self) -> bytes | None:
        if self._lines:
            return self._lines.popleft()
        assert self._is_over, "the child waits for a message, and the daemon for the child"
        return None

    def write(self, line: bytes) -> None:
        self.written.append(line)
        self._do(self.judge.said(line, self.clock.at))


class AnsweringPipe:
    """A daemon that says these lines, and answers each checkpoint by a function of it (None: taken)."""

    def __init__(
        self, *actions: wire.ToChild | bytes, refuse: Callable[[wire.Ask], str | None] = lambda _: None
    ) -> None:
        self.said: list[wire.ToDaemon] = []
        self._lines = deque(line if isinstance(line, bytes) else wire.to_child(line) for line in actions)
        self._refuse = refuse

    def read(self) -> bytes | None:
        return self._lines.popleft() if self._lines else None

    def write(self, line: bytes) -> None:
        for text in line.split(b"\n"):
            message = wire.from_child(text)
            if message is not None:
                self.said.append(message)
            if isinstance(message, wire.Ask):
                error = self._refuse(message)
                answer = wire.Answer(message.sequence_number, message.sub_sequence_number, error)
                self._lines.appendleft(wire.to_child(answer))

    @property
    def statuses(self) -> list[str | None]:
        return [said.response_for for said in self.said if isinstance(said, wire.Status)]

    @property
    def places(self) -> list[tuple[str | None, Any]]:
        """The checkpoints that were asked for."""
        return [(said.sequence_number, said.sub_sequence_number) for said in self.said if isinstance(said, wire.Ask)]


START = wire.Initialize(SHARD)


def number(place: int) -> str:
    return str(FIRST_NUMBER + place)


def batch(*places: int | tuple[int, int], payload: bytes = b"x") -> wire.ProcessRecords:
    """Records of these places, each a number or a number and a sub-number."""
    pairs = [place if isinstance(place, tuple) else (place, 0) for place in places]
    return wire.ProcessRecords([wire.WireRecord(payload, f"key-{n}", number(n), sub, 1000 + n) for n, sub in pairs], 0)


def talk(
    processor: Any,
    pipe: Any,
    *,
    checkpoint: Any = None,
    patience: float = PATIENCE,
    clock: HandClock | None = None,
    form: wire.Form | None = None,
    name: str | None = None,
) -> None:
    """A whole conversation."""
    Conversation(
        pipe,
        lambda: hooks_from(processor, name),
        checkpoint=checkpoint,
        patience=patience,
        clock=HandClock() if clock is None else clock,
    ).hold(form)


def judged(processor: Any, scenario: Scenario, form: wire.Form = wire.Form.NEWER, **options: Any) -> Judge:
    """What the judge says of this processor in this scenario."""
    clock = HandClock()
    judge = Judge(scenario, form)
    talk(processor, JudgePipe(judge, clock), clock=clock, form=form, **options)
    judge.exited(0)
    return judge


def scenario(*actions: wire.Action, **options: Any) -> Scenario:
    return Scenario("made here", [Step(action) for action in actions], **options)


class Seen:
    """A processor of all methods that notes what it was given."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def initialize(self, lease: ChildLease) -> None:
        self.told.append((lease.key, lease.sequence_number))

    def process(self, batch: Batch) -> None:
        self.told.append([record.payload for record in batch])

    def lease_lost(self) -> None:
        self.told.append("lost")

    def shard_ended(self) -> None:
        self.told.append("ended")

    def shutdown_requested(self) -> None:
        self.told.append("asked to leave")


def nothing(batch: Batch) -> None:
    """Processes them."""
