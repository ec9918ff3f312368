"""A Python processor as a child: what it is given, what it answers, and what of its work is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.errors import CheckpointFailed, UnknownMessage
from streamiter.multilang import Batch, wire
from streamiter.multilang.processor.pipe import DaemonGone
from streamiter.multilang.processor.work import MOVES, Stage
from streamiter.multilang.trying.script import scenarios
from tests.multilang.daemon import (
    START,
    AnsweringPipe,
    HandClock,
    JudgePipe,
    Seen,
    batch,
    judged,
    nothing,
    number,
    scenario,
    talk,
)

ENDED, LOST, LEAVE = wire.ShardEnded(), wire.LeaseLost(), wire.ShutdownRequested()
THROTTLED = "ThrottlingException"


# -- the whole of it, by the judge of --try


@pytest.mark.parametrize("script", scenarios(), ids=lambda script: script.name)
@pytest.mark.parametrize("form", wire.Form)
@pytest.mark.parametrize("checkpoint", [None, "batch", "never", 5])
def test_a_processor_of_ours_passes_each_trial(script, form, checkpoint):
    judge = judged(nothing, script, form, checkpoint=checkpoint)
    found = [finding.rule for finding in judge.findings]
    leaves_without_a_place = checkpoint == "never" and script.name == "a stop"
    assert found == (["no-checkpoint"] if leaves_without_a_place else [])


records = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4)), max_size=6)
scripts = st.lists(st.one_of(records, st.just("leave")), max_size=6)
ends = st.sampled_from([ENDED, LOST, None])


@given(scripts, ends, st.sampled_from(["batch", "never", 3]), st.integers(0, 3), st.data())
def test_any_course_of_a_shard_is_answered_and_kept_as_the_protocol_has_it(script, end, checkpoint, throttled, data):
    """Records of any batches; the processor keeps places of its own choice, too."""
    given_places: list[tuple[int, int]] = []
    actions: list[wire.Action] = [START]
    at = 0
    for part in script:
        if part == "leave":
            actions.append(LEAVE)
            continue
        places = []
        for step, packed in part:
            at += step
            places += [(at, sub) for sub in range(packed + 1)]
        actions.append(batch(*places))
    if end is not None:
        actions.append(end)

    def process(got: Batch) -> None:
        if got and data.draw(st.booleans()):
            kept = data.draw(st.integers(0, len(got) - 1))
            got.checkpoint(got[kept])
        given_places.extend((int(record.sequence_number), record.sub_sequence_number) for record in got)

    judge = judged(process, scenario(*actions, throttled=throttled), checkpoint=checkpoint)
    assert {finding.rule for finding in judge.findings} <= {"no-checkpoint"}
    assert judge.answers == len(actions)
    wanted = [record for action in actions if isinstance(action, wire.ProcessRecords) for record in action.records]
    assert given_places == [(int(record.sequence_number or 0), record.sub_sequence_number) for record in wanted]


# -- what goes wrong


def test_a_batch_on_which_the_processor_failed_is_not_answered():
    def process(_: Batch) -> None:
        raise KeyError("a record of yours")

    pipe = AnsweringPipe(START, batch(1), batch(2))
    with pytest.raises(KeyError):
        talk(process, pipe)
    assert pipe.statuses == ["initialize"]
    assert pipe.places == []


@pytest.mark.parametrize("method", ["initialize", "lease_lost", "shard_ended", "shutdown_requested"])
def test_nor_is_any_other_action(method):
    def fail(*_: Any) -> None:
        raise KeyError(method)

    courses: dict[str, list[wire.Action]] = {
        "lease_lost": [LOST],
        "shard_ended": [ENDED],
        "shutdown_requested": [LEAVE],
    }
    course = courses.get(method, [])
    seen = Seen()
    setattr(seen, method, fail)
    pipe = AnsweringPipe(START, *course)
    with pytest.raises(KeyError):
        talk(seen, pipe)
    assert pipe.statuses == ["initialize"] * len(course)
    assert pipe.places == []


def test_a_throttled_checkpoint_is_tried_again_with_growing_pauses():
    clock, times = HandClock(), iter([THROTTLED, "KinesisClientLibDependencyException", THROTTLED])
    pipe = AnsweringPipe(START, batch(1), refuse=lambda _: next(times, None))
    talk(nothing, pipe, clock=clock)
    assert pipe.places == [(number(1), 0)] * 4
    assert clock.pauses == [0.5, 1.0, 2.0]


def test_one_that_stays_throttled_is_left_to_the_next_batch():
    clock = HandClock()
    pipe = AnsweringPipe(START, batch(1), batch(2), refuse=lambda ask: THROTTLED if clock.at < 20 else None)
    talk(nothing, pipe, clock=clock, patience=10)
    assert pipe.places[-1] == (number(2), 0)
    assert sum(clock.pauses) <= 2 * 10 + 8
    assert pipe.statuses[1:] == ["processRecords"] * 2


def test_but_not_at_the_end_of_a_shard_where_there_is_no_next():
    pipe = AnsweringPipe(START, ENDED, refuse=lambda _: THROTTLED)
    with pytest.raises(CheckpointFailed, match="ThrottlingException") as caught:
        talk(nothing, pipe)
    assert caught.value.is_passing
    assert pipe.statuses == ["initialize"]


def test_a_processor_hears_why_its_checkpoint_was_refused():
    told: list[CheckpointFailed] = []

    def process(got: Batch) -> None:
        try:
            got.checkpointer.checkpoint("1")
        except CheckpointFailed as failed:
            told.append(failed)

    pipe = AnsweringPipe(
        START, batch(1), refuse=lambda ask: "IllegalArgumentException" if ask.sequence_number == "1" else None
    )
    talk(process, pipe)
    assert [(failed.error, failed.value) for failed in told] == [("IllegalArgumentException",) * 2]
    assert "between the last one and the last record given" in str(told[0])
    assert pipe.places == [("1", None), (number(1), 0)]


@pytest.mark.parametrize("checkpoint", ["batch", "never"])
def test_a_lost_lease_is_no_failure_of_the_processor(checkpoint):
    def process(got: Batch) -> None:
        got.checkpoint()

    pipe = AnsweringPipe(START, batch(1), LOST, refuse=lambda _: "ShutdownException")
    talk(process, pipe, checkpoint=checkpoint)
    assert pipe.statuses == ["initialize", "processRecords", "leaseLost"]


def test_records_after_a_lost_lease_are_not_answered():
    pipe = AnsweringPipe(START, batch(1), batch(2), refuse=lambda _: "ShutdownException")
    with pytest.raises(UnknownMessage, match="the lease is lost"):
        talk(nothing, pipe)
    assert pipe.statuses == ["initialize", "processRecords"]


def test_there_are_no_checkpoints_where_a_daemon_takes_none():
    class Wrong(Seen):
        def lease_lost(self, last: Any) -> None:  # type: ignore[override]
            last.checkpoint()

    pipe = AnsweringPipe(START, LOST)
    with pytest.raises(CheckpointFailed, match="InvalidStateException"):
        talk(Wrong(), pipe)
    assert pipe.places == []


def test_none_are_asked_for_between_the_actions():
    kept: list[Batch] = []
    pipe = AnsweringPipe(START, batch(1))
    talk(kept.append, pipe)
    with pytest.raises(CheckpointFailed, match="InvalidStateException"):
        kept[0].checkpoint()


# -- the end of input, at any time


@pytest.mark.parametrize("lines", range(4))
def test_the_input_may_end_between_any_two_messages(lines):
    seen = Seen()
    pipe = AnsweringPipe(*[START, batch(1), LEAVE, LOST][:lines])
    talk(seen, pipe)
    assert len(pipe.statuses) == lines


def test_where_it_ends_before_a_checkpoint_is_answered_the_processor_cannot_go_on():
    went_on = []

    def process(got: Batch) -> None:
        try:
            got.checkpoint()
        except Exception:
            went_on.append("a retry of its own would spin for ever")

    class Silent(AnsweringPipe):
        def read(self) -> bytes | None:
            return super().read() if not self.places else None

    pipe = Silent(START, batch(1))
    with pytest.raises(DaemonGone):
        talk(process, pipe)
    assert not went_on
    assert pipe.statuses == ["initialize"]


def test_an_answer_that_comes_late_is_none():
    pipe = AnsweringPipe(START, wire.Answer("1", 0), batch(1))
    talk(nothing, pipe)
    assert pipe.statuses == ["initialize", "processRecords"]


# -- messages out of order, or of another language


@pytest.mark.parametrize(
    "lines",
    [
        [batch(1)],
        [LOST],
        [START, START],
        [START, ENDED, batch(1)],
        [START, LOST, LOST],
        [START, b'{"action":"dance"}\n'],
        [START, b"hello\n"],
        [START, b"null\n"],
        [START, b"[]\n"],
    ],
)
def test_what_cannot_be_answered_ends_the_child(lines):
    pipe = AnsweringPipe(*lines)
    with pytest.raises(UnknownMessage, match="the child ends") as caught:
        talk(nothing, pipe)
    assert len(pipe.statuses) == len(lines) - 1
    assert "hello" not in str(caught.value)  # a line may hold records


def test_each_move_of_the_table_can_happen():
    happened = set()
    courses: list[list[wire.Action]] = [
        [START, batch(1), LEAVE, LEAVE, batch(2), LOST],
        [START, ENDED],
        [START, wire.Shutdown("ZOMBIE")],
        *([START, LEAVE, end] for end in (ENDED, LOST, wire.Shutdown("TERMINATE"))),
    ]
    for course in courses:
        stage = Stage.NEW
        for action in course:
            happened.add((stage, type(action)))
            stage = MOVES[stage][type(action)]
        pipe = AnsweringPipe(*course)
        talk(nothing, pipe)
        assert len(pipe.statuses) == len(course)
    assert happened == {(stage, action) for stage, moves in MOVES.items() for action in moves}


def test_blank_lines_and_unknown_fields_are_nothing():
    line = b'{"later":{"x":[1]},"action":"initialize","shardId":"s","sequenceNumber":"LATEST","subSequenceNumber":0}\n'
    seen = Seen()
    pipe = AnsweringPipe(b"\n", line, b"  \r\n", ENDED)
    talk(seen, pipe)
    assert seen.told == [("s", "LATEST"), "ended"]


# -- older daemons, and shards that share a child


def test_an_older_daemon_is_recognised_by_its_first_message():
    pipe = AnsweringPipe(b'{"action":"initialize","shardId":"s"}\n', batch(1), wire.Shutdown("TERMINATE"))
    lines: list[bytes] = []
    write = pipe.write
    pipe.write = lambda line: (lines.append(line), write(line))[1]  # type: ignore[method-assign]
    talk(nothing, pipe)
    asked = [json.loads(line) for line in lines if b'"checkpoint"' in line]
    assert asked == [{"action": "checkpoint", "checkpoint": number(1)}, {"action": "checkpoint", "checkpoint": None}]
    assert pipe.statuses == ["initialize", "processRecords", "shutdown"]


def test_the_older_shutdown_says_whether_the_shard_ended_or_the_lease_was_lost():
    for reason, told in (("TERMINATE", "ended"), ("ZOMBIE", "lost")):
        seen = Seen()
        talk(seen, AnsweringPipe(START, wire.Shutdown(reason)))
        assert seen.told[-1] == told


def test_each_shard_of_a_shared_child_has_a_processor_of_its_own():
    made = []

    class Each(Seen):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    def line(action: wire.Action, shard: str) -> bytes:
        return wire.to_child(action, shard=shard)

    pipe = AnsweringPipe(
        line(wire.Initialize("a"), "a"),
        line(wire.Initialize("b"), "b"),
        line(batch(1, payload=b"1"), "a"),
        line(batch(2, payload=b"2"), "b"),
        line(ENDED, "a"),
        line(LOST, "b"),
        line(wire.Initialize("b"), "b"),
        line(batch(3, payload=b"3"), "b"),
    )
    talk(Each, pipe)
    a, b, again = made
    assert a.told == [("a", "TRIM_HORIZON"), [b"1"], "ended"]
    assert b.told == [("b", "TRIM_HORIZON"), [b"2"], "lost"]
    assert again.told == [("b", "TRIM_HORIZON"), [b"3"]]


def test_a_conversation_in_memory_cannot_hang():
    """The judge's pipe itself: a child that waits out of turn fails the test, and does not stop it."""
    pipe = JudgePipe(judged(nothing, scenario(START)), HandClock())
    pipe._is_over = False
    pipe._lines.clear()
    with pytest.raises(AssertionError, match="waits"):
        pipe.read()
