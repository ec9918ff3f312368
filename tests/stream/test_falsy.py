"""Records and rows whose class makes them false: they are records all the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamiter import ChangeRecord, PoisonRecord, Stream
from streamiter.testing import ManualClock
from tests.stream.family import drained, family, numbers, read


class Empty(ChangeRecord):
    """A record whose class has a length, and that is of no length."""

    def __len__(self) -> int:
        return 0


class Nothing:
    """A row that is false."""

    def __init__(self, image: object) -> None:
        self.image = image

    def __bool__(self) -> bool:
        return False


class Refuses(Nothing):
    """A row that is false, of all records but those of an even number."""

    def __init__(self, image: dict) -> None:
        super().__init__(image)
        if image["n"] % 2:
            raise ValueError


WAYS: dict[str, Callable[[Stream, ManualClock], list]] = {
    "next": drained,
    "follow": lambda stream, _: list(stream.follow()),
    "follow until caught up": lambda stream, _: list(stream.follow(until="caught_up")),
    "batches": lambda stream, _: [record for batch in stream.batches(5) for record in batch],
    "batches of one": lambda stream, _: [record for batch in stream.batches(1, until="caught_up") for record in batch],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options", [{}, {"model": Nothing}, {"on_event": lambda event: None}, {"lateness": None}])
def test_none_is_lost(way: str, options: dict):
    clock = ManualClock()
    with read(family(Empty), clock=clock, **options) as stream:
        came = WAYS[way](stream, clock)
        assert sorted(numbers(came)) == list(range(1, 13))
        assert not any(came)
        assert stream.stats.records == stream.token["clock"] == 12


def test_a_table_has_them():
    with read(family(Empty)) as stream:
        assert stream.to_arrow()["sequence_number"].to_pylist() == [str(number) for number in range(1, 13)]


@pytest.mark.parametrize("way", ["next", "follow", "batches"])
def test_skip_goes_past_one(way: str):
    clock = ManualClock()
    with read(family(Empty), clock=clock, model=Refuses) as stream:
        came: list = []
        for _ in range(6):
            with pytest.raises(PoisonRecord):
                until_it_raises(stream, way, came)
            stream.skip()
        came += WAYS[way](stream, clock)
        assert numbers(came) == list(range(2, 13, 2))
        assert all(isinstance(record.new, Refuses) for record in came)


def until_it_raises(stream: Stream, way: str, came: list) -> None:
    while True:
        if way == "batches":
            came += next(stream.batches(1))
        elif (record := next(stream)) is not None:
            came.append(record)
