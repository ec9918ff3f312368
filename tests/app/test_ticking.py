"""Timers at work: in each worker, in the leader alone, through errors, hand-overs, crashes and stops."""

from __future__ import annotations

import asyncio
import logging
from random import Random
from typing import Any

import pytest

from streamiter import App
from streamiter.app import LeaseLost, LeaseTaken, TimerFailed, TimerMissed
from streamiter.app.runtime import Runtime
from streamiter.app.stats import LeaderStats
from streamiter.app.ticking import leader_stats
from streamiter.app.virtual.process import WALL_START
from streamiter.store import Table
from streamiter.store.memory import MemoryStore
from tests.app.machines import FAILOVER, Machine, Moody, make_app, virtually


@virtually
async def test_a_timer_runs_in_each_worker_at_its_moments():
    ran: list[tuple[str, float]] = []
    machines = []
    for name in ("a", "b"):
        app = make_app(name)

        @app.timer(60)
        async def flush(name=name):
            ran.append((name, asyncio.get_running_loop().time()))

        @app.cron("*/5 * * * *")
        def clean(name=name):
            ran.append((f"clean {name}", asyncio.get_running_loop().time()))

        machines.append(Machine(app, MemoryStore()))
    await asyncio.sleep(201)  # the virtual clock began 20 s before a full minute, 3 min 20 s before a fifth one
    assert [moment for name, moment in ran if name == "a"] == pytest.approx([20, 80, 140, 200], abs=0.001)
    assert [moment for name, moment in ran if name == "b"] == pytest.approx([20, 80, 140, 200], abs=0.001)
    assert sorted(name for name, _ in ran if "clean" in name) == ["clean a", "clean b"]
    for machine in machines:
        await machine.stop()
        assert not machine.events
        assert not machine.errors


@virtually
async def test_a_leader_s_timer_runs_in_one_worker_and_goes_on_in_another_when_that_is_killed():
    ran: list[tuple[str, float]] = []
    store = MemoryStore()
    machines = {}
    for name in ("a", "b", "c"):
        app = make_app(name)

        @app.timer(5, on_leader=True)
        async def report(lease, name=name):
            assert lease.owner == name
            ran.append((name, asyncio.get_running_loop().time()))

        machines[name] = Machine(app, store)
    loop = asyncio.get_running_loop()
    await asyncio.sleep(100)
    (leader,) = {name for name, _ in ran}
    assert len(ran) >= 19
    killed_at, before = loop.time(), len(ran)
    await machines.pop(leader).kill()
    await asyncio.sleep(100)
    (heir,) = {name for name, _ in ran[before:]}
    assert heir != leader
    assert ran[before][1] <= killed_at + 1.5 * FAILOVER + 5
    (told,) = machines[heir].told(TimerMissed)
    assert (told.processor, told.lease, told.count) == ("report", "leader", 3)
    assert len(machines[heir].told(LeaseTaken)) == 1
    moments = [moment for _, moment in ran]
    assert moments == sorted(moments)
    before = len(ran)
    stopped_at = loop.time()
    await machines.pop(heir).stop()
    assert loop.time() - stopped_at < 1
    await asyncio.sleep(20)
    (last,) = machines.values()
    assert {name for name, _ in ran[before:]} == {"abc".replace(leader, "").replace(heir, "")}
    assert len(ran[before:]) >= 3, "a leader that stops hands over at once: nothing is missed for a failover"
    await last.stop()


@virtually
async def test_two_are_never_leaders_at_once():
    """Workers come, go, die, and are cut off from the store for a while: no runs of two workers ever overlap."""
    chance, store = Random(7), MemoryStore()
    at_work: set[str] = set()
    ran: list[str] = []
    machines: dict[str, tuple[Machine, Moody]] = {}
    gone: list[Machine] = []

    def begin(name: str) -> None:
        app = make_app(name, grace=1)

        @app.timer(1, on_leader=True)
        async def report():
            assert not at_work, (name, at_work)
            at_work.add(name)
            ran.append(name)
            try:
                await asyncio.sleep(chance.random() * 1.5)
            finally:
                at_work.discard(name)

        way = Moody(store)
        machines[name] = Machine(app, way, ahead=chance.uniform(-2, 2)), way

    for step in range(300):
        if len(machines) < 3:
            begin(f"worker {step}")
        await asyncio.sleep(chance.uniform(1, 15))
        name = ran[-1] if ran and ran[-1] in machines and chance.random() < 0.5 else chance.choice(list(machines))
        machine, way = machines[name]
        way.is_gone = chance.random() < 0.4
        if chance.random() < 0.2:
            gone.append(machines.pop(name)[0])
            await (machine.kill() if way.is_gone or chance.random() < 0.5 else machine.stop())
    for machine, _ in machines.values():
        await machine.kill()
        gone.append(machine)
    assert not [error for machine in gone for error in machine.errors]
    assert not [event for machine in gone for event in machine.told(TimerFailed)]
    assert len(set(ran)) > 20


@virtually
async def test_a_leader_that_cannot_renew_runs_nothing_and_says_so_once_it_can():
    ran: list[float] = []
    store = Moody()
    app = make_app("a")

    @app.timer(1, on_leader=True)
    async def report():
        ran.append(asyncio.get_running_loop().time())

    machine = Machine(app, store)
    await asyncio.sleep(20)
    store.is_gone, gone_at = True, asyncio.get_running_loop().time()
    await asyncio.sleep(60)
    assert max(ran) <= gone_at + FAILOVER
    store.is_gone = False
    await asyncio.sleep(20)
    assert max(ran) > gone_at + 60
    missed = machine.told(TimerMissed)
    assert sum(told.count for told in missed) >= 50
    assert not machine.errors
    await machine.stop()
    assert len(ran) + sum(told.count for told in missed) in (99, 100), "one run for each second, or one that is missed"


@virtually
async def test_an_error_is_told_and_the_timer_goes_on():
    ran: list[str] = []
    app = make_app("a")

    @app.timer(10)
    def here():
        ran.append("here")
        raise ValueError("secret")

    @app.timer(10, on_leader=True)
    async def there():
        ran.append("there")
        raise KeyError("secret")

    logging.disable(logging.CRITICAL)
    machine = Machine(app, MemoryStore())
    await asyncio.sleep(60)
    await machine.stop()
    logging.disable(logging.NOTSET)
    assert ran.count("here") == 6
    assert ran.count("there") >= 4
    told = machine.told(TimerFailed)
    assert {(one.processor, one.lease, one.error) for one in told} == {
        ("here", "", "ValueError"),
        ("there", "leader", "KeyError"),
    }
    assert len(told) == len(ran)
    assert not machine.errors


@virtually
async def test_a_run_that_is_still_at_work_at_the_next_moment_is_not_joined_by_another():
    for on_leader in (False, True):
        began: list[float] = []
        app = make_app("a")

        @app.timer(10, on_leader=on_leader)
        async def slow(began=began):
            began.append(asyncio.get_running_loop().time())
            await asyncio.sleep(25)

        machine = Machine(app, MemoryStore())
        await asyncio.sleep(100)
        await machine.stop()
        assert all(
            after - before == pytest.approx(30, abs=0.01) for before, after in zip(began, began[1:], strict=False)
        )
        missed = machine.told(TimerMissed)
        assert {one.why for one in missed} == {"its run before is still at work"}
        assert len(missed) >= 2 * (len(began) - 1)


@virtually
async def test_a_stop_waits_for_runs_within_the_grace_and_no_longer():
    loop = asyncio.get_running_loop()
    for on_leader in (False, True):
        for seconds, grace, done in [(8, 30, True), (100, 5, False)]:
            ended: list[bool] = []
            app = make_app("a", grace=grace)

            @app.timer(20, on_leader=on_leader)
            async def slow(seconds=seconds, ended=ended):
                try:
                    await asyncio.sleep(seconds)
                    ended.append(True)
                except asyncio.CancelledError:
                    ended.append(False)
                    raise

            machine = Machine(app, MemoryStore())
            await asyncio.sleep(20 - (loop.time() % 20) + 21)
            asked = loop.time()
            await machine.stop()
            assert ended[-1:] == [done]
            assert loop.time() - asked == pytest.approx(min(seconds, grace) - (1 if done else 0), abs=1.5)


@virtually
async def test_a_run_of_a_leader_that_lost_its_lease_is_cancelled():
    ended: list[str] = []
    store = Moody()
    app = make_app("a")

    @app.timer(20, on_leader=True)
    async def slow():
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    machine = Machine(app, store)
    await asyncio.sleep(60)
    table = Table("leader", "shop")
    (row,) = store.scan(table)
    fields = {**row.fields, "owner": "other", "fence": row.fields["fence"] + 1}
    store.write(table, row._replace(fields=fields), row.version)
    await asyncio.sleep(5)
    assert ended == ["cancelled"]
    assert len(machine.told(LeaseLost)) == 1
    await machine.stop()


@virtually
async def test_a_clock_set_forward_is_noticed():
    ran: list[float] = []
    app = make_app("a")

    @app.cron("0 16 * * *")
    async def daily():
        ran.append(machine.clock.now())

    machine = Machine(app, MemoryStore())
    await asyncio.sleep(10)
    machine.clock.ahead = 3150.0  # from 15:06:50 to 15:59:20
    await asyncio.sleep(60)
    assert len(ran) == 1
    await machine.stop()


def test_timers_run_in_virtual_time_too():
    app = App("shop", store="memory:")
    ran: list[str] = []

    @app.processor("dynamodb://orders")
    async def bill(record): ...

    @app.timer(60)
    async def here():
        ran.append("here")

    @app.timer(60, on_leader=True)
    async def there():
        ran.append("there")

    app.test([{"id": "a"}], until=150)  # from 15:06:40
    assert sorted(ran) == ["here"] * 3 + ["there"] * 3


def test_an_app_of_timers_alone_runs_and_stops():
    """With the machine's own clock and threads."""
    ran: list[str] = []
    app = App("shop", store="memory:")

    @app.timer(0.01)
    def tick():
        ran.append("tick")
        app.stop()

    app.run()
    assert ran


@virtually
async def test_stats_say_who_leads_since_when():
    store, machines = MemoryStore(), []
    for name in ("first", "second"):
        app = make_app(name)

        @app.timer(60, on_leader=True)
        async def report(): ...

        machines.append(Machine(app, store))
        await asyncio.sleep(20)
    first, second = machines

    def told_by(machine: Machine) -> Any:
        (leader,) = machine.parts
        assert isinstance(leader, Runtime)
        return leader_stats(leader.engine, leader.now_us())

    assert told_by(first) == told_by(second) == LeaderStats("first", 1, told_by(first).since)
    assert 0 <= told_by(first).since - WALL_START < 20
    await first.kill()
    await asyncio.sleep(FAILOVER + 1)
    assert told_by(second) is None or told_by(second).worker == "second"
    await asyncio.sleep(FAILOVER)
    assert told_by(second).worker == "second" and told_by(second).fence == 2
    assert told_by(second).since - WALL_START > 40
    await second.stop()


def test_an_app_s_stats_say_who_leads():
    """With the machine's own clock and threads."""
    app, led = App("shop", store="memory:"), []

    @app.timer(0.01, on_leader=True)
    def report(lease):
        led.append((app.stats.leader, lease))
        app.stop()

    assert app.stats.leader is None
    app.run()
    leader, lease = led[0]
    assert (leader.worker, leader.fence) == (app.worker_id, lease.fence) and leader.since > WALL_START
