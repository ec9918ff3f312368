"""At the tip: exact while the service keeps to `lateness`; lawful whatever it does (law 7)."""

from __future__ import annotations

import json

from hypothesis import given, note
from hypothesis import strategies as st

from tests.drawn import DrawnLag, live_tapes, live_world, tapes
from tests.oracle import assert_same, expected
from tests.worlds import SECOND, Drive, Tape

BEFORE = -30 * SECOND  # so that reading begins before the world's shards split


@given(live_tapes, tapes, st.sampled_from([BEFORE, 0]))
def test_at_the_tip_nothing_is_late_while_the_service_keeps_to_lateness(live: Tape, tape: Tape, now_us: int):
    world = live_world(live)
    note(f"{world}")
    wanted = expected(world.shards)
    drive = Drive(world, tape=tape, lag=DrawnLag(world, tape), faults=True, now_us=now_us)
    assert_same(drive.run(len(wanted)), wanted)


@given(live_tapes, tapes)
def test_at_the_tip_tokens_go_on_as_if_never_cut(live: Tape, tape: Tape):
    world = live_world(live)
    note(f"{world}")
    wanted = expected(world.shards)
    token, now_us, cut = None, BEFORE, 0
    while cut < len(wanted):
        part = Drive(world, token, tape=tape, lag=DrawnLag(world, tape), faults=True, now_us=now_us)
        end = min(len(wanted), cut + 1 + tape.draw(5))
        assert_same(part.read(end - cut), wanted[cut:end], clock=cut)
        token, now_us, cut = part.token(), part.now_us + tape.draw(4) * SECOND, end
        note(f"at {now_us}, after {cut}: {json.dumps(token.to_dict())}")
