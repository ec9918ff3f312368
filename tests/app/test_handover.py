"""From a Stream to an app and back, by tokens: nothing is lost, and nothing comes twice (law 17)."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from streamiter import DynamoDBStreams, Stream
from streamiter.app import App
from streamiter.errors import InvalidOption, InvalidPosition, InvalidToken
from streamiter.store.memory import MemoryStore
from streamiter.testing import Simulator

RECORDS = 90


class Kept(MemoryStore):
    """A store that outlives the app that closes it."""

    def close(self) -> None:
        pass


@pytest.fixture
def users():
    with Simulator("S1 => {S2, S3}") as sim:
        for number in range(RECORDS):
            shard = "S1" if number < 30 else ("S2", "S3")[number % 2]
            sim.put(shard, key=f"u{number}", new={"id": f"u{number}"})
        sim.clock.advance(60)
        yield sim


def source(sim: Simulator) -> DynamoDBStreams:
    return DynamoDBStreams(sim.stream_arn, client=sim.client())


def app_of(sim: Simulator, order: Any, most: int, store: MemoryStore) -> tuple[App, list[str]]:
    """An app that stops once it has so many records."""
    app, got = App("shop", store=store), []

    @app.processor(source(sim), order=order)
    async def work(record):
        got.append(record.key["id"])
        if len(got) == most:
            app.stop()

    return app, got


def read(sim: Simulator, token: Any, most: int = RECORDS) -> tuple[list[str], dict[str, Any]]:
    with Stream(source(sim), token, clock=sim.clock) as stream:
        found = [record.key["id"] for record in islice(stream.follow(until="caught_up"), most)]
        return found, stream.token


@pytest.mark.parametrize("order", ["shard", "total"])
@pytest.mark.parametrize("most", [7, 30, 45, 89])
def test_an_app_goes_on_where_a_stream_stands(users, order, most):
    first, token = read(users, "trim_horizon", most)
    app, rest = app_of(users, order, RECORDS - most, Kept())
    app.seed("work", token)
    app.run()
    assert sorted([*first, *rest]) == sorted(f"u{number}" for number in range(RECORDS))


@pytest.mark.parametrize("order", ["shard", "total"])
@pytest.mark.parametrize("most", [7, 30, 45, 89])
def test_a_stream_goes_on_where_an_app_stands(users, order, most):
    app, first = app_of(users, order, most, Kept())
    app.run()
    rest, _ = read(users, app.token("work"))
    assert sorted([*first, *rest]) == sorted(f"u{number}" for number in range(RECORDS))


def test_what_cannot_be_handed_over_is_said(users):
    store = Kept()
    app, _ = app_of(users, "shard", 30, store)
    with pytest.raises(InvalidToken, match="has no leases yet"):
        app.token("work")
    with pytest.raises(InvalidOption, match="has no processor 'works'; it has work"):
        app.token("works")
    _, token = read(users, "trim_horizon", 5)
    with pytest.raises(InvalidToken, match="it is of arn:other, and work reads"):
        app.seed("work", {**token, "stream": "arn:other"})
    app.seed("work", token)
    with pytest.raises(InvalidPosition, match="already"):
        app.seed("work", token)
