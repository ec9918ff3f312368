"""`only=`: the processors and timers that are named run, and nothing else."""

from __future__ import annotations

from collections import Counter

import pytest

from streamiter import InvalidOption
from streamiter.app import App
from streamiter.testing import GivenRecords


def make_app(ran: Counter[str], *, enough: int = 3) -> App:
    """Each part notes that it ran; one that ran often enough stops the app, so that all others had their chance."""
    app = App("shop", store="memory:", failover=1)

    def note(name: str) -> None:
        ran[name] += 1
        if ran[name] >= enough:
            app.stop()

    @app.processor(GivenRecords([{"id": f"row-{n}"} for n in range(3)]))
    def bill(record):
        note("bill")

    @app.processor(GivenRecords([{"id": f"row-{n}"} for n in range(3)]))
    def index(record):
        note("index")

    @app.timer(0.05)
    def flush():
        note("flush")

    @app.timer(0.05)
    def tidy():
        note("tidy")

    @app.timer(0.05, on_leader=True)
    def report():
        note("report")

    return app


@pytest.mark.parametrize("names", [["bill"], ["flush"], ["report"]])
def test_what_is_not_named_does_not_run(names):
    ran: Counter[str] = Counter()
    make_app(ran).run(only=names)
    assert set(ran) == set(names)


def test_processors_and_timers_are_named_alike():
    ran: Counter[str] = Counter()
    make_app(ran, enough=30).run(only=("index", "tidy"))
    assert set(ran) == {"index", "tidy"}


def test_the_leader_runs_all_of_its_timers_or_none():
    """There is one leader: one that knew only some of them would keep the others from running anywhere."""
    app = make_app(Counter())

    @app.cron("0 * * * *", on_leader=True)
    def nightly(): ...

    with pytest.raises(InvalidOption, match="name nightly too, or give that timer an app of its own"):
        app.run(only=["report"])


@pytest.mark.parametrize(
    "names, words",
    [
        (["bil"], "has no processor or timer 'bil'; it has bill, index, flush, tidy, report"),
        ("bill", r"only= takes a list of names, such as \['bill'\]"),
        ([], "only= names nothing to run"),
    ],
)
def test_names_that_cannot_be_meant_are_refused(names, words):
    with pytest.raises(InvalidOption, match=words):
        make_app(Counter()).run(only=names)
