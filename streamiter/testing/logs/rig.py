"""The rig of a log: the log, and how to spoil its calls; the author of a backend writes one, of what can be done to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from streamiter.log import Entry, Log
from streamiter.testing.contract.rig import Rig


@dataclass
class LogRig:
    """A log of three partitions without entries. What cannot be done to it is None: rules that need it are passed over."""

    log: Log
    another: Callable[[], Log]  # one more handle on the same log, as another process has
    url: str | None = None  # by which other processes open it ...
    environment: Mapping[str, str] = field(default_factory=dict)  # ... with these variables set
    is_durable: bool | None = None  # True: what was acknowledged outlives a kill -9 of the process that wrote it
    is_atomic: bool | None = None  # True: the entries of one append come all together, or none of them
    is_exact: bool | None = True  # None: its clocks are not one, so its times are true to `lateness` alone
    grows: bool | None = True  # None: partitions cannot be added here
    trims: bool | None = True  # None: the log lets go of entries by their age alone, and does not count them
    shard_id: Callable[[int], str] = str  # a partition's shard, as the log lists it
    most_bytes: int = 1_000_000  # as large an entry it must take
    advance: Callable[[float], object] | None = None  # so many seconds pass, where its clock is turned by hand
    lose_answer: Callable[[], object] | None = None  # the next append is done, and its answer is lost
    throttle: Callable[[], object] | None = None  # the next call is told that it is one too many
    fail: Callable[[], object] | None = None  # the next call meets a fault that passes; nothing is done
    silence: Callable[[], object] | None = None  # the next call is never answered
    hasty: Callable[[], Log] | None = None  # one more handle, by the same way, with a short time limit: for that call


def source_rig(rig: LogRig) -> Rig:
    """The same log as a source: its shards are called S0, S1 and so on, and none of them splits."""
    log = rig.log

    def trim(shard: str) -> None:
        last = log.ends(_partition(shard)).last
        if last is not None:
            log.trim(_partition(shard), last + 1)

    return Rig(
        log,
        lambda notation: log.grow(max(log.partitions(), len(notation.split("~")))),
        lambda shard, key: log.append(_partition(shard), [Entry(b"", key.encode())]),
        lambda record: (record.key or b"").decode(),
        lambda shard: rig.shard_id(_partition(shard)),
        advance=rig.advance,
        trim=trim if rig.trims else None,
        throttle=rig.throttle,
        fail=rig.fail,
        splits=None,
        ages=None,
    )


def _partition(shard: str) -> int:
    return int(shard.removeprefix("S"))
