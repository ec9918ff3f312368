"""Bloop's tokens: a reader goes on from them, and the tokens after its first records are ours."""

from __future__ import annotations

from streamiter.token import Token, load_token
from tests.reading.test_reading import order, world
from tests.reading.test_resume import go_on
from tests.worlds import HOUR, NOW, SECOND, STREAM, Drive, truths


def bloop(*active: str, **shards: str) -> Token:
    """`S2="S1 after_sequence 100"`: S2's parent, iterator type and sequence number, `-` for none."""
    rows = []
    for shard_id, text in shards.items():
        names = ("parent", "iterator_type", "sequence_number")
        words = zip(names, text.split(), strict=False)
        rows.append({"shard_id": shard_id} | {name: word for name, word in words if word != "-"})
    return load_token({"stream_arn": STREAM, "active": list(active), "shards": rows})


def test_bloops_lanes_go_on_and_their_descendants_are_read():
    everything = world("S1 => {S2, S3}; S3 => S4", S1=truths(9), S2=truths(8, 7), S3=truths(8, 6), S4=truths(5))
    token = bloop("S2", "S3", S1="-", S2="S1 after_sequence 100", S3="S1 at_sequence 101", S4="S3")
    drive = Drive(everything, token)
    drive.run(3)
    assert order(drive) == "R22 < R32 < R41"


def test_bloops_trim_horizon_is_the_shards_own():
    everything = world("S1 => S2", S1=truths(9), S2=truths(8, 7))
    drive = Drive(everything, bloop("S2", S1="-", S2="S1 trim_horizon"))
    drive.run(2)
    assert order(drive) == "R21 < R22"


def test_bloops_latest_is_the_end_of_the_first_listing():
    everything = world("S1", S1=truths(9, -0.01), open=("S1",))
    drive = Drive(everything, bloop("S1", S1="- latest"))
    drive.run(1)
    assert order(drive) == "R12"


def test_beside_bloops_lanes_closed_shards_count_as_read_and_open_ones_do_not():
    everything = world("S1 ~ S2 => S3 ~ S4", S1=truths(9, 8), S2=truths(7), S3=truths(6), S4=truths(5), open=("S4",))
    drive = Drive(everything, bloop("S1", S1="- after_sequence 100"))
    drive.run(2)
    assert order(drive) == "R12 < R41"
    rest = go_on(drive)
    rest.run(quiet_us=60 * SECOND)
    assert not rest.out, "and so they do in the tokens that follow"


def test_what_is_below_bloops_lanes_is_read_though_it_is_closed_and_was_not_in_the_token():
    """Its lane has no ancestor that is listed still, and rolled twice before the token was loaded."""
    everything = world("S1 => S2 => S3", S1=truths(9, 8), S2=truths(7), S3=truths(6), open=("S3",))
    drive = Drive(everything, bloop("S1", S1="- after_sequence 100"))
    drive.run(3)
    assert order(drive) == "R12 < R21 < R31"


def test_siblings_of_bloops_lanes_are_read_though_they_are_closed():
    """The token lacks one of two shards below the same parent: it has an ancestor in common with a lane."""
    everything = world("S1 => {S2, S3}", S1=truths(9), S2=truths(8), S3=truths(7), open=("S2",))
    drive = Drive(everything, bloop("S2", S2="S1 trim_horizon"))
    drive.run(2)
    assert order(drive) == "R21 < R31"


def test_bloops_shards_that_are_gone_let_their_children_be_read():
    everything = world("(S1) => S2", S2=truths(8), open=("S2",))
    drive = Drive(everything, bloop("S1", S1="- after_sequence 100"))
    drive.run(1)
    assert order(drive) == "R21"


def test_after_a_few_records_a_token_of_bloops_is_one_of_ours():
    everything = world("S1 => S2", S1=truths(9, 8), S2=truths(10), open=("S2",))
    drive = Drive(everything, bloop("S1", S1="- after_sequence 100", S2="S1"))
    drive.read(1)
    token = drive.token()
    assert token.to_dict()["streamiter"] == 2 and token.closed_are_read
    rest = go_on(drive)
    rest.run(1)
    assert order(rest) == "R21" and rest.out[0].order_us == NOW - 8 * HOUR
