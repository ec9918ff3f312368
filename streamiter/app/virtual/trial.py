"""The trial: an app's processors run once over given records, in virtual time, by one worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from streamiter.app.events import AppEvent
from streamiter.app.virtual.account import Delivery, Failed
from streamiter.app.virtual.world import Turnable, World
from streamiter.errors import InvalidOption
from streamiter.record import Record
from streamiter.store import Store

if TYPE_CHECKING:
    from streamiter.app.app import App

MOST_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Trial:
    """What happened when an app was tried out."""

    deliveries: Sequence[Delivery]  # in the order in which the functions got them
    failures: Sequence[Failed]
    checkpoints: Mapping[str, Mapping[str, str]]  # by processor, then by lease
    events: Sequence[AppEvent]
    seconds: float  # that it took, in virtual time
    sent: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # by topic: the values that the app sent, in order

    @property
    def delivered(self) -> list[Record]:
        """The records that functions got, in that order; those that failed and were tried again stand there again."""
        return [delivery.record for delivery in self.deliveries]

    @property
    def failed(self) -> list[Record]:
        """The records on which a function raised an error."""
        return [failure.record for failure in self.failures]


def try_out(app: App, given: Any, until: str | float, clock: Turnable | None, store: Store | None = None) -> Trial:
    """Runs the app until it has caught up, or for so many seconds; then stops it, as SIGTERM does."""
    if until != "caught_up" and (isinstance(until, bool | str) or not until > 0):
        raise InvalidOption(f"until= is 'caught_up' or a number of seconds, not {until!r}")
    world = World(app, given, clock=clock, store=store)
    try:
        worker = world.start("worker-0")
        if isinstance(until, str):
            caught_up = world.caught_up()
            if not world.run(MOST_SECONDS, lambda: worker.is_dead or caught_up()):
                raise AssertionError(f"{app.name} has not caught up after a day of virtual time: {_waiting(world)}")
        else:
            world.run(until, lambda: worker.is_dead)
        seconds = world.times.now_us / 1e6
        worker.leave()
        world.run((app.pace.grace_us + 2 * app.pace.failover_us) / 1e6, lambda: worker.is_dead)
        if worker.error is not None:
            raise worker.error
        deliveries = [told for account in world.accounts.values() for told in account.deliveries]
        failures = [told for account in world.accounts.values() for told in account.failures]
        return Trial(
            sorted(deliveries, key=lambda told: told.seconds),
            sorted(failures, key=lambda told: told.seconds),
            {name: {key: lease.checkpoint for key, lease in world.leases(name).items()} for name in app.processors},
            world.events,
            seconds,
            world.topics.sent(),
        )
    finally:
        world.close()


def _waiting(world: World) -> str:
    told = []
    for name, account in world.accounts.items():
        seen = sum(map(len, account.tap.seen.values()))
        finished = sum(map(len, account.finished.values()))
        told.append(f"{name} is through with {finished} of {seen} records")
    return "; ".join(told)
