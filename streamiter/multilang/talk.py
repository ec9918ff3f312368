"""The talk: which messages one shard and its child may exchange, and what each answer means, without any I/O.

NEW        no message was sent yet           IDLE      no action is out; any may follow
STARTING   initialize is out                 PROCESSING, REQUESTED, LOSING, ENDING: that action is out
DRAINED    shutdownRequested was answered    OVER      only the end of input can follow
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from streamiter.multilang.marks import Mark, Marks, Verdict
from streamiter.multilang.wire import (
    Action,
    Answer,
    Ask,
    Form,
    Initialize,
    LeaseLost,
    ProcessRecords,
    ShardEnded,
    ShutdownRequested,
    Status,
    answer_name,
    from_child,
)


class State(Enum):
    """Where the talk stands."""

    NEW = auto()
    STARTING = auto()
    IDLE = auto()
    PROCESSING = auto()
    REQUESTED = auto()
    DRAINED = auto()
    LOSING = auto()
    ENDING = auto()
    OVER = auto()


# Which state an action leads to, and from which states it may be sent; and which state follows its answer.
SENT: Final[Mapping[tuple[State, type[Action]], State]] = {
    (State.NEW, Initialize): State.STARTING,
    (State.IDLE, ProcessRecords): State.PROCESSING,
    (State.IDLE, ShutdownRequested): State.REQUESTED,
    (State.IDLE, LeaseLost): State.LOSING,
    (State.DRAINED, LeaseLost): State.LOSING,
    (State.IDLE, ShardEnded): State.ENDING,
}
ANSWERED: Final[Mapping[State, State]] = {
    State.STARTING: State.IDLE,
    State.PROCESSING: State.IDLE,
    State.REQUESTED: State.DRAINED,
    State.LOSING: State.OVER,
    State.ENDING: State.OVER,
}
# States in which no checkpoint is taken, whatever its number: the processor has not begun yet, or its lease is gone.
NO_CHECKPOINTS: Final = frozenset({State.NEW, State.STARTING, State.LOSING, State.OVER})


@dataclass(frozen=True, slots=True)
class Noise:
    """A line that is no message: log it, and go on."""


@dataclass(frozen=True, slots=True)
class Done:
    """The action that was out is done."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer this at once."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Put:
    """Move the checkpoint here; then `Talk.put` gives the answer."""

    mark: Mark
    ask: Ask


@dataclass(frozen=True, slots=True)
class Wrong:
    """The child broke the protocol, and cannot go on."""

    why: str


Heard: TypeAlias = Noise | Done | Reply | Put | Wrong


class Talk:
    """Where the talk with one child stands: the state, the action that is out, the checkpoints."""

    def __init__(self, marks: Marks, form: Form | None = None) -> None:
        self.state = State.NEW
        self.marks = marks
        self.form = form or Form.NEWER
        self._is_form_certain = form is not None
        self._out: Action | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether an action is out, and the child is to answer it."""
        return self.state in ANSWERED

    def send(self, action: Action) -> None:
        """Notes that this action is sent. An action that cannot follow is a fault of our code."""
        after = SENT.get((self.state, type(action)))
        if after is None:
            raise AssertionError(f"{type(action).__name__} cannot be sent in {self.state.name}")
        if isinstance(action, ProcessRecords):
            self.marks.delivered(action.records)
        self.state, self._out = after, action

    def hear(self, line: bytes) -> Heard:
        """What a line of the child means."""
        match from_child(line):
            case Ask() as ask:
                return self._asked(ask)
            case Status(response_for=name):
                return self._answered(name)
            case _:
                return Noise()

    def put(self, ask: Ask, mark: Mark, error: str | None) -> Answer:
        """The answer to a checkpoint that was moved here, or could not be (`error`)."""
        if error is None:
            self.marks.put(mark)
            self._note_end(mark)
        return Answer(ask.sequence_number, ask.sub_sequence_number, error)

    # -- inside

    def _asked(self, ask: Ask) -> Heard:
        if ask.form is not None and not self._is_form_certain:
            self.form, self._is_form_certain = ask.form, True
        if self.state in NO_CHECKPOINTS:
            return Reply(Answer(ask.sequence_number, ask.sub_sequence_number, "InvalidStateException"))
        match self.marks.judge(ask, is_end=self.state is State.ENDING):
            case Verdict.REFUSED:
                return Reply(Answer(ask.sequence_number, ask.sub_sequence_number, "IllegalArgumentException"))
            case Verdict.STANDS:
                self._note_end(self.marks.standing)
                return Reply(Answer(ask.sequence_number, ask.sub_sequence_number))
            case Mark() as mark:
                return Put(mark, ask)

    def _note_end(self, mark: Mark | None) -> None:
        """The shard's end is checkpointed when the child, on shardEnded, checkpoints at the last record."""
        if self.state is State.ENDING and mark == self.marks.last:
            self.marks.is_ended = True

    def _answered(self, name: str | None) -> Heard:
        if self._out is None or not self.is_waiting:
            return Wrong(f"it answered {name!r}, and nothing was asked")
        wanted = answer_name(self._out, self.form)
        if name != wanted:
            return Wrong(f"it answered {name!r} to {wanted}")
        if self.state is State.ENDING and not self.marks.is_ended:
            return Wrong("it made no checkpoint at the shard's end: the shard's children wait for it")
        self.state, self._out = ANSWERED[self.state], None
        return Done()
