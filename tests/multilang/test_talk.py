"""The talk: each state and move, checkpoints as they were recorded, and properties of any exchange; no processes."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.multilang.marks import MOST_GIVEN, Mark, Marks, Verdict
from streamiter.multilang.talk import ANSWERED, SENT, Done, Heard, Noise, Put, Reply, State, Talk, Wrong
from streamiter.multilang.wire import (
    NAMES,
    Action,
    Answer,
    Form,
    Initialize,
    LeaseLost,
    ProcessRecords,
    ShardEnded,
    ShutdownRequested,
    WireRecord,
    to_daemon,
)
from streamiter.multilang.wire import Ask as Asked
from streamiter.multilang.wire import Status as Told

ACTIONS: list[Action] = [Initialize("S1"), ProcessRecords([]), ShutdownRequested(), LeaseLost(), ShardEnded()]
WAYS: dict[State, list[Action]] = {
    State.NEW: [],
    State.IDLE: [Initialize("S1")],
    State.DRAINED: [Initialize("S1"), ShutdownRequested()],
    State.OVER: [Initialize("S1"), LeaseLost()],
}


def line(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def answered(talk: Talk, action: Action, name: str | None = None) -> Heard:
    talk.send(action)
    return talk.hear(line(action="status", responseFor=name or NAMES[type(action)]))


def talk_in(state: State, standing: Mark | None = None) -> Talk:
    talk = Talk(Marks(standing))
    for action in WAYS[state]:
        assert answered(talk, action) == Done()
    assert talk.state is state
    return talk


def processing(*records: tuple[str, int], standing: Mark | None = None) -> Talk:
    talk = talk_in(State.IDLE, standing)
    talk.send(ProcessRecords([WireRecord(b"", "k", number, sub) for number, sub in records]))
    return talk


@pytest.mark.parametrize("state, action", list(product(WAYS, ACTIONS)))
def test_an_action_can_be_sent_where_the_table_says_so_and_nowhere_else(state: State, action: Action):
    talk = talk_in(state)
    if (state, type(action)) in SENT:
        talk.send(action)
        assert talk.state is SENT[state, type(action)] and talk.is_waiting
    else:
        with pytest.raises(AssertionError):
            talk.send(action)


@pytest.mark.parametrize("state, action", SENT)
def test_nothing_is_sent_while_an_action_is_out_and_its_answer_leads_on(state: State, action: type[Action]):
    told = next(one for one in ACTIONS if type(one) is action)
    talk = talk_in(state)
    if action is ShardEnded:
        talk.send(told)
        talk.hear(line(action="checkpoint"))
    else:
        talk.send(told)
    for other in ACTIONS:
        with pytest.raises(AssertionError):
            talk.send(other)
    after = ANSWERED[talk.state]
    assert talk.hear(line(action="status", responseFor=NAMES[action])) == Done()
    assert talk.state is after and not talk.is_waiting


@pytest.mark.parametrize("name", ["shardEnded", "nonsense", None])
def test_a_wrong_answer_is_wrong(name: str | None):
    talk = processing(("7", 0))
    assert talk.hear(line(action="status", responseFor=name)) == Wrong(f"it answered {name!r} to processRecords")


def test_an_answer_to_nothing_is_wrong():
    assert isinstance(talk_in(State.IDLE).hear(line(action="status", responseFor="initialize")), Wrong)


def test_the_end_of_a_shard_wants_a_checkpoint():
    talk = talk_in(State.IDLE)
    assert answered(talk, ShardEnded()) == Wrong(
        "it made no checkpoint at the shard's end: the shard's children wait for it"
    )


SEVEN, REFUSED = Mark("7", 2), "IllegalArgumentException"


@pytest.mark.parametrize(
    "ask, wanted",
    [
        ({}, SEVEN),
        ({"sequenceNumber": None, "subSequenceNumber": None}, SEVEN),
        ({"sequenceNumber": None, "subSequenceNumber": 7}, SEVEN),
        ({"sequenceNumber": "7", "subSequenceNumber": 2}, SEVEN),
        ({"sequenceNumber": "007", "subSequenceNumber": 2}, SEVEN),
        ({"sequenceNumber": 7, "subSequenceNumber": "2"}, SEVEN),
        ({"sequenceNumber": "7"}, Mark("7", 0)),
        ({"sequenceNumber": "6", "subSequenceNumber": 99}, Mark("6", 0)),
        ({"sequenceNumber": "7", "subSequenceNumber": 1}, Mark("7", 1)),
        ({"checkpoint": "6"}, Mark("6", 0)),
        ({"sequenceNumber": "5", "subSequenceNumber": 0}, None),
        ({"sequenceNumber": "4", "subSequenceNumber": 9}, REFUSED),
        ({"sequenceNumber": "7", "subSequenceNumber": 3}, REFUSED),
        ({"sequenceNumber": "8", "subSequenceNumber": 0}, REFUSED),
        ({"sequenceNumber": "6", "subSequenceNumber": -1}, REFUSED),
        ({"sequenceNumber": "6", "subSequenceNumber": "x"}, REFUSED),
        ({"sequenceNumber": "6", "subSequenceNumber": 1.5}, REFUSED),
        ({"sequenceNumber": ""}, REFUSED),
        ({"sequenceNumber": "six"}, REFUSED),
        ({"sequenceNumber": "\u0666"}, REFUSED),
        ({"sequenceNumber": "-6"}, REFUSED),
        ({"sequenceNumber": "9" * 100}, REFUSED),
        ({"sequenceNumber": "LATEST"}, REFUSED),
        ({"sequenceNumber": "TRIM_HORIZON"}, REFUSED),
        ({"sequenceNumber": "AT_TIMESTAMP"}, REFUSED),
        ({"sequenceNumber": "SHARD_END"}, REFUSED),
    ],
)
def test_checkpoints_are_judged_as_recorded(ask: dict[str, object], wanted: Mark | str | None):
    """The last checkpoint is 5, the last record given is 7, the third one of those that are packed there."""
    talk = processing(("6", 0), ("7", 0), ("7", 1), ("7", 2), standing=Mark("5"))
    heard = talk.hear(line(action="checkpoint", **ask))
    if isinstance(wanted, Mark):
        assert isinstance(heard, Put) and heard.mark == wanted
    else:
        assert isinstance(heard, Reply) and heard.answer.error == wanted


@pytest.mark.parametrize(
    "number, sub, wanted", [("15", 0, "10"), ("20", 9, "20"), ("29", 0, "20"), ("30", 0, "30"), ("5", 0, None)]
)
def test_a_place_between_two_records_means_the_one_before_it(number: str, sub: int, wanted: str | None):
    """Else the service would be asked for a number that it never gave, and a sub-number would skip other records."""
    talk = processing(("10", 0), ("20", 0), ("30", 0))
    heard = talk.hear(line(action="checkpoint", sequenceNumber=number, subSequenceNumber=sub))
    if wanted is None:
        assert heard == Reply(Answer(number, sub))
    else:
        assert isinstance(heard, Put) and heard.mark == Mark(wanted)
        assert talk.put(heard.ask, heard.mark, None) == Answer(number, sub)
        behind = talk.hear(line(action="checkpoint", sequenceNumber="9"))
        assert isinstance(behind, Reply) and behind.answer.error == REFUSED


def test_of_a_child_that_makes_no_checkpoint_only_so_many_places_are_kept():
    marks = Marks(None)
    marks.delivered([WireRecord(b"", None, str(number)) for number in range(MOST_GIVEN + 1)])
    assert marks.judge(Asked("7"), is_end=False) is Verdict.STANDS, "too old to be told: what stands is the safe place"
    assert marks.judge(Asked(str(MOST_GIVEN - 1)), is_end=False) == Mark(str(MOST_GIVEN - 1))


def test_what_was_asked_is_echoed():
    talk = processing(("7", 0))
    heard = talk.hear(line(action="checkpoint", sequenceNumber=7, subSequenceNumber="0"))
    assert isinstance(heard, Put)
    assert talk.put(heard.ask, heard.mark, None) == Answer("7", 0)
    refused = talk.hear(line(action="checkpoint", sequenceNumber="x", subSequenceNumber=3))
    assert refused == Reply(Answer("x", 3, REFUSED))


def test_where_nothing_was_given_there_is_nothing_to_write():
    talk = talk_in(State.IDLE)
    talk.send(ShutdownRequested())
    assert talk.hear(line(action="checkpoint")) == Reply(Answer())
    assert talk.hear(line(action="checkpoint", sequenceNumber="1")) == Reply(Answer("1", None, REFUSED))


@pytest.mark.parametrize("action", [Initialize("S1"), LeaseLost()])
def test_no_checkpoint_is_taken_before_the_processor_begins_or_once_the_lease_is_gone(action: Action):
    talk = talk_in(State.NEW if isinstance(action, Initialize) else State.IDLE)
    talk.send(action)
    assert talk.hear(line(action="checkpoint")) == Reply(Answer(None, None, "InvalidStateException"))


@pytest.mark.parametrize("number", [None, "SHARD_END", "7"])
def test_the_end_is_checkpointed_by_any_name_of_the_last_record(number: str | None):
    talk = processing(("7", 0))
    assert talk.hear(line(action="status", responseFor="processRecords")) == Done()
    talk.send(ShardEnded())
    heard = talk.hear(line(action="checkpoint", sequenceNumber=number))
    assert isinstance(heard, Put) and heard.mark == Mark("7")
    talk.put(heard.ask, heard.mark, None)
    assert talk.hear(line(action="status", responseFor="shardEnded")) == Done()
    assert talk.state is State.OVER and talk.marks.is_ended


def test_a_checkpoint_that_failed_moves_nothing():
    talk = processing(("7", 0))
    heard = talk.hear(line(action="checkpoint"))
    assert isinstance(heard, Put)
    assert talk.put(heard.ask, heard.mark, "ShutdownException").error == "ShutdownException"
    assert talk.marks.standing is None


def test_the_older_form_is_found_out_by_the_first_checkpoint():
    talk = processing(("7", 0))
    heard = talk.hear(line(action="checkpoint", checkpoint="7"))
    assert isinstance(heard, Put) and talk.form is Form.OLDER
    talk.put(heard.ask, heard.mark, None)
    talk.hear(line(action="status", responseFor="processRecords"))
    assert answered(talk, LeaseLost(), "shutdown") == Done()


ASKS = st.builds(Asked, st.none() | st.integers(0, 12).map(str) | st.text(max_size=3), st.none() | st.integers(-1, 3))
LINES = st.one_of(
    ASKS.map(to_daemon),
    st.sampled_from([*NAMES.values(), None]).map(Told).map(to_daemon),
    st.binary(max_size=9),
)


@given(st.lists(LINES, max_size=30), st.randoms(use_true_random=False))
def test_whatever_a_child_says_its_checkpoint_moves_forward_over_what_it_was_given_alone(lines: list[bytes], random):
    talk, given_upto, moved = Talk(Marks(None)), 0, [(-1, 0)]
    for told in lines:
        sendable = [action for action in ACTIONS if (talk.state, type(action)) in SENT]
        if sendable and not talk.is_waiting:
            action = random.choice(sendable)
            if isinstance(action, ProcessRecords):
                given_upto += 2
                action = ProcessRecords([WireRecord(b"", "", str(given_upto), 0)])
            talk.send(action)
        before = talk.state
        match talk.hear(told):
            case Put(mark, ask):
                assert moved[-1] < mark.key <= (given_upto, 0) and before not in (State.STARTING, State.LOSING)
                moved.append(mark.key)
                assert talk.put(ask, mark, None).error is None
            case Done():
                assert talk.state is ANSWERED[before]
            case Wrong():
                return
            case Noise() | Reply():
                assert talk.state is before
