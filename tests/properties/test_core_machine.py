"""A machine that drives the whole core step by step: lists, asks, answers, pops, cuts, fails; always on the oracle's path."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from streamiter.errors import IteratorExpired, TransientError
from tests.drawn import DrawnLag, tapes, worlds
from tests.oracle import assert_same, expected
from tests.worlds import SECOND, Drive, Out, Tape, World


class CoreMachine(RuleBasedStateMachine):
    """While all was written long ago, what comes out is the oracle's sequence, whatever happens in whatever order."""

    @initialize(world=worlds(most_shards=5, most_records=4), tape=tapes)
    def start(self, world: World, tape: Tape) -> None:
        self.world = world
        self.tape = tape
        self.wanted = expected(world.shards)
        self.before: list[Out] = []  # what came out of the readings before this one
        self.drive = Drive(world, tape=tape, lag=DrawnLag(world, tape))

    @rule()
    def ask(self) -> None:
        self.drive.begin()

    @precondition(lambda self: self.drive.flights)
    @rule(which=st.integers(0, 20))
    def answer(self, which: int) -> None:
        self.drive.deliver(which % len(self.drive.flights))

    @precondition(lambda self: any(flight.shard for flight in self.drive.flights))
    @rule(which=st.integers(0, 20), expires=st.booleans())
    def fail(self, which: int, expires: bool) -> None:
        flights = [flight for flight in self.drive.flights if flight.shard]
        flight = flights[which % len(flights)]
        assert flight.shard is not None
        self.drive.flights.remove(flight)
        error = IteratorExpired("a fault") if expires else TransientError("a fault")
        self.drive.reading.failed(flight.shard, error, self.drive.now_us)

    @rule(most=st.integers(1, 5))
    def take(self, most: int) -> None:
        self.drive.pop(most)

    @rule(ticks=st.integers(1, 40))
    def wait(self, ticks: int) -> None:
        self.drive.now_us += ticks * SECOND // 4

    @rule()
    def resume(self) -> None:
        token, now_us = self.drive.token(), self.drive.now_us
        self.before += self.drive.out
        self.drive = Drive(self.world, token, tape=self.tape, lag=DrawnLag(self.world, self.tape), now_us=now_us)

    @invariant()
    def on_the_path(self) -> None:
        if hasattr(self, "drive"):
            out = self.before + self.drive.out
            assert_same(out, self.wanted[: len(out)])
            assert self.drive.reading.book.merge.clock == len(out)
            peeked = self.drive.reading.peek()
            if peeked is not None:
                assert (peeked.shard_id, peeked.index) == self.wanted[len(out)][3:]  # type: ignore[attr-defined]

    def teardown(self) -> None:
        if hasattr(self, "drive"):
            self.drive.run(len(self.wanted) - len(self.before))
            assert_same(self.before + self.drive.out, self.wanted)


CoreMachine.TestCase.settings = settings(stateful_step_count=40)
TestCore = CoreMachine.TestCase
