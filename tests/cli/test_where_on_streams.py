"""`tail --where` on streams: what no record can have is refused, and what no record had is told in the end."""

from __future__ import annotations

from decimal import Decimal

import pytest

from streamiter.testing import Simulator
from tests.cli.conftest import Invoke

ALL = ("tail", "users", "--from", "trim_horizon", "--until", "caught_up")


@pytest.fixture
def orders(sim: Simulator) -> Simulator:
    sim.shape("S1")
    states = ["placed", "paid", "paid", "shipped"]
    for number, (before, after) in enumerate(zip(states, states[1:], strict=False)):
        old = {"id": "A1", "status": before, "count": Decimal(number), "zip": "89073"}
        sim.put("S1", key="A1", event="MODIFY", old=old, new={**old, "status": after, "count": Decimal(number + 8)})
        sim.clock.advance(1)
    return sim


def test_attributes_are_compared_with_attributes_and_not_with_their_names(orders: Simulator, invoke: Invoke):
    lines = invoke(*ALL, "--where", "new.status != old.status").stdout.splitlines()
    assert [line.split("status: ")[1].split("  ")[0] for line in lines] == ["placed → paid", "paid → shipped"]
    assert lines == invoke(*ALL, "--where", "changed(status)").stdout.splitlines()
    assert len(invoke(*ALL, "--where", "new.count > 9").stdout.splitlines()) == 1, "10 is more than 9"


@pytest.mark.parametrize(
    "expression,verdict",
    [
        ("new.status = sold", "0 of 3 records fit"),
        ("new.stauts = paid", "0 of 3 records fit; none had new.stauts (did you mean new.status?)"),
        ("event = MODIFY or new.stauts = paid", "3 of 3 records fit; none had new.stauts (did you mean new.status?)"),
        ("new.q = paid or changed(q)", "0 of 3 records fit; none had new.q or old.q"),
        (
            "new.zip > 80000",
            "0 of 3 records fit; new.zip is text, not a number: write the value in quotes to compare text, '80000'",
        ),
        ("new.count = '8'", "0 of 3 records fit; new.count is a number, not text: leave out the quotes"),
    ],
)  # fmt: skip
def test_in_the_end_it_tells_what_no_record_had(orders: Simulator, invoke: Invoke, expression, verdict):
    done = invoke(*ALL, "--where", expression)
    assert (done.exit_code, done.stderr) == (0, f"streamiter: --where: {verdict}\n")


def test_where_something_fits_there_is_nothing_to_tell(orders: Simulator, invoke: Invoke):
    for expression in ("new.status = paid", "new.zip > '80000'", "exists(old) and changed(count)"):
        done = invoke(*ALL, "--where", expression)
        assert done.stdout and done.stderr == "", expression


@pytest.mark.parametrize(
    "view,expression,place,says",
    [
        ("NEW_IMAGE", "new.a = 1 and old.a = 2", 14, "view type is NEW_IMAGE: its records have only 'new', never 'old'"),
        ("NEW_IMAGE", "changed(status)", 8, "its records have only 'new', never 'old'"),
        ("OLD_IMAGE", "old.a = new.a", 8, "its records have only 'old', never 'new'"),
        ("KEYS_ONLY", "not exists(new)", 11, "neither 'new' nor 'old', but only the row's key, never 'new'"),
    ],
)  # fmt: skip
def test_images_that_the_stream_does_not_carry_are_refused(sim: Simulator, invoke, view, expression, place, says):
    sim.disable()
    sim.enable("S1", view=view)
    sim.put("S1", key="A1")
    done = invoke(*ALL, "--where", expression)
    message, _, caret = done.stderr.splitlines()
    assert done.exit_code == 2 and done.stdout == ""
    assert says in message and message.startswith("streamiter: --where: this stream's view type is")
    assert caret == f"  {' ' * place}^"


def test_the_view_type_is_looked_up_only_where_images_are_asked_for(orders: Simulator, invoke: Invoke):
    def listings(expression: str) -> int:
        before = orders.calls.by_operation["DescribeStream"]
        assert invoke(*ALL, "--where", expression).exit_code == 0
        return orders.calls.by_operation["DescribeStream"] - before

    assert listings("event = MODIFY") + 1 == listings("new.status = old.status")
