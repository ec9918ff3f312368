"""Timers' moments: which runs are due, which are missed, and what is refused."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter import App, InvalidOption, MissingExtra
from streamiter.app.timers import LATE_US, Ticker, Timer, cron, declare_timer, every

SECOND = 1_000_000
NOON = int(datetime(2026, 3, 28, 12, tzinfo=UTC).timestamp()) * SECOND


def us(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * SECOND)


def timer(schedule, name: str = "report", on_leader: bool = False) -> Timer:
    def function(): ...

    return declare_timer(function, schedule, name=name, on_leader=on_leader)


def due(ticker: Ticker, now_us: int, running=()):
    ticks, missed = ticker.take(now_us, running)
    return [tick.created_us for tick in ticks], [(told.timer, told.runs) for told in missed]


def test_a_timer_runs_at_the_multiples_of_its_seconds_whenever_the_worker_began():
    for began in (0, 1, 59 * SECOND):
        ticker = Ticker([timer(every(60))], NOON + began)
        assert ticker.next_us == NOON + 60 * SECOND
    assert due(ticker, NOON + 60 * SECOND - 1) == ([], [])
    assert due(ticker, NOON + 60 * SECOND) == ([NOON + 60 * SECOND], [])
    assert due(ticker, NOON + 60 * SECOND) == ([], []), "once"
    assert ticker.next_us == NOON + 120 * SECOND


@given(st.floats(0.001, 86_400), st.integers(0, 10**15), st.integers(0, 10**9))
def test_periods_are_counted_as_they_would_be_walked(seconds, began, passed):
    schedule = every(seconds)
    first = schedule.after(began)
    assert began < first <= began + schedule.period_us
    assert first % schedule.period_us == 0
    now = first + passed % (schedule.period_us * 50)
    count, last = schedule.passed(first, now)
    assert last == first + (count - 1) * schedule.period_us <= now < schedule.after(last)


def test_what_a_worker_slept_through_is_missed_but_for_a_run_that_is_hardly_late():
    ticker = Ticker([timer(every(60))], NOON)
    assert due(ticker, NOON + 601 * SECOND) == ([NOON + 600 * SECOND], [("report", 9)])
    hourly = Ticker([timer(every(3600))], NOON)
    late = NOON + 3600 * SECOND + LATE_US
    assert due(hourly, late) == ([], [("report", 1)])
    assert hourly.next_us == NOON + 7200 * SECOND
    hourly = Ticker([timer(every(3600))], NOON)
    assert due(hourly, late - 1) == ([NOON + 3600 * SECOND], [])


def test_a_run_is_missed_while_the_one_before_it_is_at_work():
    ticker = Ticker([timer(every(10)), timer(every(10), "other")], NOON)
    moment = NOON + 10 * SECOND
    assert due(ticker, moment, {"report"}) == ([moment], [("report", 1)])


def test_a_new_leader_tells_what_was_missed_since_the_last_one():
    timers = [timer(cron("*/5 * * * *", "UTC"))]
    ticker = Ticker(timers, NOON + 11 * 60 * SECOND, {"report": NOON, "gone": 5})
    assert due(ticker, NOON + 11 * 60 * SECOND) == ([], [("report", 2)])
    assert ticker.next_us == NOON + 15 * 60 * SECOND
    assert "gone" not in ticker.last


def test_a_leader_whose_clock_is_behind_repeats_nothing():
    ticker = Ticker([timer(cron("0 12 * * *", "UTC"))], NOON - 5 * SECOND, {"report": NOON})
    assert due(ticker, NOON) == ([], [])
    assert ticker.next_us == NOON + 86_400 * SECOND


def test_a_clock_that_is_set_back_a_little_repeats_nothing_and_by_far_begins_anew():
    for schedule, little, far in [
        (every(60), 30, 3600),
        (cron("*/5 * * * *", "UTC"), 3600, 4 * 3600),
    ]:
        ticker = Ticker([timer(schedule)], NOON - SECOND)
        assert due(ticker, NOON) == ([NOON], [])
        assert due(ticker, NOON - little * SECOND) == ([], [])
        assert ticker.next_us == schedule.after(NOON)
        assert due(ticker, NOON - far * SECOND) == ([], [])
        assert ticker.next_us == schedule.after(NOON - far * SECOND)


def test_a_checkpoint_from_a_clock_far_ahead_stops_no_timer():
    ticker = Ticker([timer(cron("*/5 * * * *", "UTC"))], NOON, {"report": NOON + 400 * 86_400 * SECOND})
    assert ticker.next_us == NOON + 300 * SECOND


def test_cron_goes_by_its_time_zone():
    vienna = cron("30 2 * * *", "Europe/Vienna")
    assert vienna.after(us("2026-01-10T00:00:00+00:00")) == us("2026-01-10T01:30:00+00:00")
    assert vienna.after(us("2026-07-10T00:00:00+00:00")) == us("2026-07-10T00:30:00+00:00")
    assert cron("30 2 * * *", ZoneInfo("Europe/Vienna")).after(0) == vienna.after(0)
    assert cron("30 2 * * *", "utc").after(us("2026-01-10T00:00:00+00:00")) == us("2026-01-10T02:30:00+00:00")


def test_a_day_that_lacks_the_hour_has_its_run_and_one_that_has_it_twice_has_one():
    vienna = cron("30 2 * * *", "Europe/Vienna")
    spring = vienna.after(us("2026-03-29T00:00:00+00:00"))
    assert us("2026-03-29T01:00:00+00:00") == spring
    first = vienna.after(us("2026-10-24T23:00:00+00:00"))
    assert first == us("2026-10-25T00:30:00+00:00")
    assert vienna.after(first) == us("2026-10-26T01:30:00+00:00")
    assert vienna.after(us("2026-10-25T01:10:00+00:00")) == us("2026-10-26T01:30:00+00:00"), (
        "from within the second pass"
    )


EXPRESSIONS = st.sampled_from(
    ["*/5 * * * *", "0 * * * *", "30 2 * * *", "15,45 2 * * *", "0 0 1 * *", "*/20 1-3 * * 0"]
)


@given(
    EXPRESSIONS,
    st.sampled_from(["UTC", "Europe/Vienna", "America/New_York", "Australia/Lord_Howe"]),
    st.integers(us("2026-01-01T00:00:00+00:00"), us("2027-01-01T00:00:00+00:00")),
)
def test_moments_always_go_forward(expression, zone, began):
    schedule = cron(expression, zone)
    moments = [began]
    for _ in range(30):
        moments.append(schedule.after(moments[-1]))
    assert all(before < after for before, after in zip(moments, moments[1:], strict=False))
    assert schedule.passed(moments[1], moments[-1]) == (30, moments[-1])


@given(st.lists(st.integers(1, 3 * 3600), min_size=1, max_size=30), st.sampled_from([1, 7, 60, 3600]))
def test_each_moment_is_handed_out_or_told_as_missed_and_never_both(steps, seconds):
    ticker = Ticker([timer(every(seconds))], NOON)
    now, ran, missed = NOON, 0, 0
    for step in steps:
        now += step * SECOND
        ticks, told = ticker.take(now)
        ran, missed = ran + len(ticks), missed + sum(one.runs for one in told)
        assert len(ticks) <= 1
    assert ran + missed == now // (seconds * SECOND) - NOON // (seconds * SECOND)


@pytest.mark.parametrize("seconds", [0, -1, True, "60", None, float("nan"), float("inf"), 10**9])
def test_a_timer_takes_seconds(seconds):
    with pytest.raises(InvalidOption, match="a timer runs every so many seconds"):
        every(seconds)


@pytest.mark.parametrize(
    "expression, says",
    [
        ("* * * *", "five fields"),
        ("0 * * * * *", "five fields"),
        (5, "five fields"),
        ("61 * * * *", "cannot be read: Bad minute"),
        ("* * * * funday", "cannot be read: Bad day-of-week"),
        ("0 0 30 2 *", "cannot be read|never comes"),
    ],
)
def test_a_cron_expression_that_cannot_be_meant_is_refused(expression, says):
    with pytest.raises(InvalidOption, match=says):
        cron(expression, "UTC")


@pytest.mark.parametrize("timezone", ["Europe/Wien-Mitte", "", "../etc/passwd", "Europe", 3])
def test_a_time_zone_that_there_is_not_is_refused(timezone):
    with pytest.raises(InvalidOption, match="time zone|timezone"):
        cron("* * * * *", timezone)


def test_without_cronsim_the_error_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "cronsim", None)
    with pytest.raises(MissingExtra, match=r"\[cron\]"):
        cron("* * * * *", "UTC")


def test_what_a_timer_s_function_may_take():
    def nothing(): ...
    def defaults(limit=3, *rest, **more): ...
    def lease(lease): ...
    async def coroutine(): ...

    assert not declare_timer(defaults, every(1), name=None, on_leader=False).wants_lease
    assert declare_timer(lease, every(1), name=None, on_leader=True).wants_lease
    assert declare_timer(coroutine, every(1), name=None, on_leader=False).is_async
    assert not declare_timer(nothing, every(1), name=None, on_leader=False).is_async

    def record(record): ...
    def two(lease, more): ...
    def generator():
        yield

    async def stream():
        yield

    for wrong, on_leader in [(lease, False), (record, True), (two, True), (generator, False), (stream, False)]:
        with pytest.raises(InvalidOption, match=wrong.__name__):
            declare_timer(wrong, every(1), name=None, on_leader=on_leader)


def test_an_app_keeps_its_timers_by_name():
    app = App("shop", store="memory:")

    @app.timer(60)
    @app.cron("*/5 * * * *", timezone="Europe/Vienna", on_leader=True, name="nightly")
    def report(): ...

    assert list(app.timers) == ["nightly", "report"]
    assert [told.on_leader for told in app.timers.values()] == [True, False]
    with pytest.raises(InvalidOption, match="has a timer 'report' already"):
        app.timer(10)(report)
    assert timedelta(microseconds=app.timers["report"].schedule.period_us) == timedelta(minutes=1)
