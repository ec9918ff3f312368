"""Steps: work that has to wait now and then, as a generator that says what for; its caller waits, by thread or event loop.

So what happens between the waits is written once, for Stream, which blocks its thread, and for AsyncStream, which awaits.
Work may be broken off at a wait, and nowhere else: there it is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Final, NamedTuple, TypeVar

from streamiter.clock import Clock

T = TypeVar("T")


class Pause(NamedTuple):
    """Time is to pass, by the clock of the stream."""

    seconds: float


class Call(NamedTuple):
    """A call that may take long is to be made; the work goes on with what it gives or raises."""

    make: Callable[[], Any]


class Answers(NamedTuple):
    """An answer to one of the calls under way is to come; at most so long, in real time, is waited for it."""

    seconds: float


Wait = Pause | Call | Answers
Steps = Generator[Wait, Any, T]
Waiter = Callable[[Wait], Any]

SHORTEST: Final = 1e-6  # seconds; what floating-point numbers leave over is no time

ANSWERS: Final = Answers(0.1)  # after that it is looked whether another call has fallen due


def finish(steps: Steps[T], wait: Waiter) -> T:
    """Does all the steps, and waits as `wait` does, on this thread. What that raises is raised where the work waits."""
    try:
        wish = next(steps)
        while True:
            try:
                found = wait(wish)
            except BaseException as error:  # Ctrl-C too: the work is broken off in there
                wish = steps.throw(error)
            else:
                wish = steps.send(found)
    except StopIteration as done:
        result: T = done.value
        return result


def within(steps: Steps[T], clock: Clock, seconds: float) -> Steps[T | None]:
    """Does the steps, but waits for no more than so long in all: then they are broken off, and it gives None."""
    until = clock.monotonic() + seconds
    try:
        wish = next(steps)
        while (left := until - clock.monotonic()) > SHORTEST:
            try:
                found = yield _shortened(wish, left)
            except BaseException as error:
                wish = steps.throw(error)
            else:
                wish = steps.send(found)
        steps.close()
        return None
    except StopIteration as done:
        result: T = done.value
        return result


def _shortened(wish: Wait, seconds: float) -> Wait:
    return wish if isinstance(wish, Call) else wish._replace(seconds=min(wish.seconds, seconds))


def by_clock(clock: Clock) -> Waiter:
    """Waits on this thread, by that clock, and makes calls on it; for work without calls under way."""

    def wait(wish: Wait) -> Any:
        if isinstance(wish, Call):
            return wish.make()
        assert isinstance(wish, Pause)
        clock.sleep(wish.seconds)
        return None

    return wait
