"""With order="key" records are done while others before them wait for their key: no lease is let go at such a hole."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from streamiter import App, Retry
from streamiter.app.policies import Halt
from streamiter.errors import ProcessorFailed
from streamiter.testing import FleetOf
from tests.app.rows import SOURCE, make_app

ROWS = [{"id": "hot" if number % 3 == 0 else f"row-{number}", "n": number} for number in range(60)]


def app_of(found: list[int], *, fails: int | None = None, policy: Any = None) -> App:
    app, tries = make_app(), Counter[int]()

    @app.processor(SOURCE, order="key", concurrency=8, on_error=policy or Retry(after=[0.5, 0.5]))
    async def work(record):
        number = int(record.new["n"])
        tries[number] += 1
        await asyncio.sleep(0.2 if record.key["id"] == "hot" else 0.01)
        if number == fails and tries[number] == 1:
            raise ValueError("once")
        found.append(number)

    return app


def fleet_of(found: list[int], **options: Any) -> FleetOf:
    return FleetOf(app_of(found, **options), ROWS, workers=1)


@pytest.mark.parametrize("moment", [2.0, 2.3, 3.1])
def test_who_leaves_first_fills_the_holes(moment: float):
    """The hot key's records take their turns while all others are done long ago."""
    found: list[int] = []
    with fleet_of(found) as fleet:
        fleet.run(moment)
        assert 8 < len(found) < 60
        last = max(found)
        fleet.leave(0)
        fleet.run(8)
        assert sorted(found) == list(range(last + 1)), "the holes are filled, and nothing is begun behind them"
        fleet.join()
        fleet.catch_up()
    assert sorted(found) == list(range(60))
    hot = [number for number in found if number % 3 == 0]
    assert hot == sorted(hot)


def test_a_record_that_is_tried_again_soon_is_waited_for():
    found: list[int] = []
    with fleet_of(found, fails=1, policy=Retry(after=[3])) as fleet:
        fleet.run(1.2)
        assert 1 not in found and 2 in found
        fleet.leave(0)
        fleet.run(8)
        assert 1 in found
        fleet.join()
        fleet.catch_up()
    assert sorted(found) == list(range(60))


def test_one_that_is_tried_again_much_later_is_not():
    found: list[int] = []
    with fleet_of(found, fails=1, policy=Retry(after=[600])) as fleet:
        fleet.run(1.2)
        fleet.leave(0)
        fleet.run(8)
        assert 1 not in found
        assert not any(lease.owner for lease in fleet.leases().values()), "the worker has left"
        fleet.join()
        fleet.catch_up()
    assert set(found) == set(range(60))


def test_nothing_is_tried_again_by_an_app_that_halts():
    found: list[int] = []
    with pytest.raises(ProcessorFailed):
        app_of(found, fails=1, policy=Halt()).test(ROWS)
    assert 1 not in found and 2 in found
