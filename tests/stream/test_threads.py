"""More than one thread on a Stream: to look is free at any moment; to read or move is for one at a time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

from streamiter import Stream, StreamiterError
from streamiter.testing import ManualClock
from tests.stream.family import drained, family, numbers, read

pytestmark = pytest.mark.outdoors


class Hooked(ManualClock):
    """A clock on which something happens while the stream rests."""

    def __init__(self) -> None:
        super().__init__()
        self.then: Callable[[], object] | None = None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        then, self.then = self.then, None
        if then is not None:
            then()


def in_thread(do: Callable[[], Any], name: str = "second") -> Any:
    """What it gives, or the error that it raises, on a thread of that name."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(do())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run, name=name)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "it hangs"
    return found[0]


TURNS: dict[str, Callable[[Stream], Any]] = {
    "next": lambda stream: next(stream),
    "follow": lambda stream: next(stream.follow()),
    "batches": lambda stream: next(stream.batches(1)),
    "to_arrow": lambda stream: stream.to_arrow(),
    "move_to": lambda stream: stream.move_to("trim_horizon"),
    "skip": lambda stream: stream.skip(),
    "heartbeat": lambda stream: stream.heartbeat(),
}
LOOKS: dict[str, Callable[[Stream], Any]] = {
    "stats": lambda stream: stream.stats,
    "token": lambda stream: stream.token,
    "ended": lambda stream: stream.ended,
    "lineage": lambda stream: stream.lineage,
    "repr": repr,
}


@pytest.mark.parametrize("turn", TURNS)
def test_a_second_thread_is_refused_by_name_while_the_first_reads(turn: str):
    clock, refusals = Hooked(), []
    with read(family(), clock=clock) as stream:
        clock.then = lambda: refusals.append(in_thread(lambda: TURNS[turn](stream)))
        assert numbers(list(stream.follow())) == list(range(1, 13))
    (refusal,) = refusals
    assert isinstance(refusal, StreamiterError)
    assert f"thread 'second' called {turn}()" in str(refusal)
    assert "thread 'MainThread' is in its follow()" in str(refusal)
    assert "one thread at a time" in str(refusal)


@pytest.mark.parametrize("turn", TURNS)
def test_it_is_refused_while_the_first_waits_for_an_answer(turn: str):
    source, found = family(), []
    with read(source) as stream:

        def on_fetch() -> None:
            source.on_fetch = lambda: None
            found.append(in_thread(lambda: TURNS[turn](stream)))

        source.on_fetch = on_fetch
        assert numbers([record for batch in stream.batches(5) for record in batch]) == list(range(1, 13))
    assert "is in its batches()" in str(found[0])


def test_to_look_is_free_while_the_first_reads():
    clock, looks = Hooked(), []
    with read(family(), clock=clock) as stream:
        clock.then = lambda: looks.append(in_thread(lambda: {name: look(stream) for name, look in LOOKS.items()}))
        assert numbers(list(stream.follow())) == list(range(1, 13))
        (seen,) = looks
        assert seen["stats"].records == seen["token"].get("clock", 0)
        assert seen["ended"] is False
        assert set(seen["lineage"]) == {"S0", "S1", "S2"}
        assert seen["repr"] == "<Stream shelf>"


def test_a_batch_that_is_being_made_is_not_returned_yet():
    clock, looks = Hooked(), []
    with read(family(), clock=clock) as stream:
        batches = stream.batches(100, until="caught_up")
        before = stream.token
        clock.then = lambda: looks.append(in_thread(lambda: (stream.token, stream.stats, stream.ended)))
        assert len(next(batches)) == 12
        assert looks == [(before, looks[0][1], False)]
        assert looks[0][1].records == 0
        assert (stream.token["clock"], stream.stats.records) == (12, 12)


def test_close_from_a_second_thread_ends_a_run():
    with read(family(each=100, page_size=1000)) as stream:
        following = stream.follow()
        came = numbers(list(islice(following, 50)))
        in_thread(stream.close)
        assert list(following) == []
        token = stream.token
    with read(family(each=100, page_size=1000), token) as again:
        assert came + numbers(list(again.follow())) == list(range(1, 301))


def test_one_thread_after_another_may_read():
    clock = ManualClock()
    with read(family(each=200, page_size=1000), clock=clock) as stream:
        came: list[int] = []
        for turn in range(20):
            take = [lambda: [next(stream) for _ in range(7)], lambda: list(islice(stream.follow(), 9))][turn % 2]
            came += numbers(in_thread(take, name=f"reader {turn}"))
        came += numbers(in_thread(lambda: drained(stream, clock)))
        assert came == list(range(1, 601))
        assert stream.stats.records == 600


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as Python can have them do it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty")
def test_whoever_looks_all_the_time_sees_it_whole():
    """Each token that was seen goes on right behind so many records; numbers only grow; nothing raises."""
    source = family(each=2000, page_size=700)
    tokens: dict[int, dict[str, Any]] = {}
    done = threading.Event()
    with read(source) as stream:

        def look() -> None:
            before = 0
            while not done.is_set():
                token, stats = stream.token, stream.stats
                tokens.setdefault(token.get("clock", 0), token)
                assert before <= token.get("clock", 0) <= stats.records
                assert stats.waiting >= 0
                assert stats.waiting_bytes >= 0
                before = stats.records
                _ = stream.ended, stream.lineage, repr(stream)

        errors: list[Any] = []
        threads = [threading.Thread(target=lambda: errors.append(in_thread(look))) for _ in range(2)]
        for thread in threads:
            thread.start()
        following = stream.follow()
        came = numbers(list(islice(following, 1500)))
        came += numbers([record for batch in islice(stream.batches(333), 3) for record in batch])
        came += numbers(list(following))
        done.set()
        for thread in threads:
            thread.join(60)
        assert errors == [None, None]
        assert came == list(range(1, 6001))
    assert tokens
    for clock in sorted(tokens)[:: max(1, len(tokens) // 8)]:
        with read(source, tokens[clock]) as again:
            assert numbers(list(islice(again.follow(), 20))) == list(range(clock + 1, 6001))[:20]


@pytest.mark.usefixtures("hasty")
def test_two_that_call_next_at_once_lose_nothing_and_get_nothing_twice():
    with read(family(each=2000, page_size=700, stays_open=True)) as stream:
        came: list[list[int]] = [[], []]
        refusals: list[str] = []

        def take(mine: list[int]) -> None:
            while stream.token.get("clock", 0) < 6000:
                for _ in range(100):
                    try:
                        record = next(stream)
                    except StreamiterError as error:
                        refusals.append(str(error))
                        continue
                    if record is not None:
                        mine.append(int(record.sequence_number))

        readers = [threading.Thread(target=take, args=(mine,)) for mine in came]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(120)
            assert not reader.is_alive()
        assert sorted(came[0] + came[1]) == list(range(1, 6001))
        assert all(mine == sorted(mine) for mine in came)
        assert all("one thread at a time" in refusal for refusal in refusals)
