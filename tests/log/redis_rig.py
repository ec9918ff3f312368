"""The rig of a log in Redis: streams of an app of their own on a Valkey server, behind a proxy that loses answers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from streamiter.log import Entry, Log
from streamiter.log.redis import RedisLog
from streamiter.testing import LogRig, LossyProxy

APPS = itertools.count()
SHORT = 0.5  # seconds: how long a log waits for a server that keeps silent; no other call depends on it


@contextmanager
def redis_rig(port: int) -> Iterator[LogRig]:
    proxy = LossyProxy(port)
    name = f"orders?app=check{next(APPS)}"
    near, url = f"redis://127.0.0.1:{proxy.port}/{name}", f"redis://127.0.0.1:{port}/{name}"
    log = RedisLog(near)
    log.grow(3)
    log.now_us()  # a connection begins with questions of the client's own
    yield LogRig(
        log,
        lambda: RedisLog(url),
        url=url,
        is_durable=True,  # it is the server that outlives the writer
        is_atomic=True,
        lose_answer=proxy.lose_answer,
        fail=proxy.cut,
        silence=proxy.silence,
        hasty=lambda: RedisLog(near, call_seconds=SHORT),
    )
    log.close()
    proxy.close()


def fill(log: Log, count: int, partition: int = 0, first: int = 0) -> list[int]:
    return log.append(partition, [Entry(b"%d" % number) for number in range(first, first + count)])


def payloads(log: Log, after: int, limit: int = 100, partition: int = 0) -> list[bytes]:
    return [record.payload for record in log.read(partition, after, limit).records]
