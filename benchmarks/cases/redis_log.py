"""Logs in Redis: how fast a log is written and an app works it off, beside plain redis-py loops on the same server."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import redis

from benchmarks.log_rates import Rates, measured, row, streamed, timed, work_off
from benchmarks.measure import Scale
from benchmarks.results import Result
from streamiter import App
from streamiter.log import Entry
from streamiter.log.redis import RedisLog
from tests.store import servers

TITLE = "logs in Redis: 1 KB, 8 partitions, a processor that does nothing"
PARTITIONS = 8
PAYLOAD = bytes(range(256)) * 4
BATCH = 1000
COUNT = 100  # entries a call of the plain loop, with one XACK each
LOOP = "XREADGROUP and XACK by redis-py"
ROUNDS = itertools.count()


def run(scale: Scale) -> Result:
    """Our turn and the peer's, one after the other, on the same server and the same entries."""
    count = scale.of(160_000, 8_000)
    with tempfile.TemporaryDirectory() as folder, servers.valkey(Path(folder)) as port:
        rounds = [_round(port, count) for _ in range(scale.runs)]

    return Result(
        [
            row(
                rounds, "append to a log in Redis, batches of 1,000", "written", "piped", "XADD, piped by redis-py", 0.5
            ),
            row(rounds, "an app on it: batches of 100", "batches", "loop", LOOP, 0.6),
            row(rounds, "the same: events.records()", "events", "loop", LOOP, 0.3),
            row(rounds, "Stream.batches, in one order", "streamed", "loop", LOOP, None),
        ],
        {"records": count, "payload_bytes": len(PAYLOAD), "partitions": PARTITIONS, "rates": measured(rounds)},
        {"redis-py": {"redis": redis.__version__, "parser": _parser()}},
    )


def _round(port: int, count: int) -> Rates:
    url = f"redis://127.0.0.1:{port}/orders?app=bench{next(ROUNDS)}"
    log = RedisLog(url)
    log.grow(PARTITIONS)
    with redis.Redis(port=port) as client:
        try:
            return {
                "written": timed(lambda: _append(log, count)),
                "piped": timed(lambda: _pipe(client, count)),
                "loop": timed(lambda: _loop(client, count)),
                "batches": timed(lambda: _work(port, url, count, is_events=False)),
                "events": timed(lambda: _work(port, url, count, is_events=True)),
                "streamed": timed(lambda: streamed(url, BATCH)),
            }
        finally:
            client.flushall()
            log.close()


def _append(log: RedisLog, count: int) -> int:
    entries = [Entry(PAYLOAD, b"key-%d" % number) for number in range(BATCH)]
    for turn in range(count // BATCH):
        log.append(turn % PARTITIONS, entries)
    return count


def _keys() -> list[str]:
    return [f"plain:{partition}" for partition in range(PARTITIONS)]


def _pipe(client: redis.Redis, count: int) -> int:
    keys = _keys()
    for turn in range(count // BATCH):
        pipeline = client.pipeline(transaction=False)
        for number in range(BATCH):
            pipeline.xadd(keys[turn % PARTITIONS], {"payload": PAYLOAD, "key": b"key-%d" % number})
        pipeline.execute()
    return count


def _loop(client: redis.Redis, count: int) -> int:
    """One group, one consumer; no order between the streams, no lease, no fence."""
    for key in _keys():
        client.xgroup_create(key, "bill", id="0", mkstream=True)
    wanted: Any = dict.fromkeys(_keys(), ">")
    done = 0
    while done < count:
        found: Any = client.xreadgroup("bill", "one", wanted, count=COUNT)
        for key, entries in found:
            done += len([fields for _, fields in entries])
            client.xack(key, "bill", *[written for written, _ in entries])
    return done


def _work(port: int, url: str, count: int, *, is_events: bool) -> int:
    """Its leases are on the same server."""
    app = App(f"bench-{'events' if is_events else 'batches'}", store=f"redis://127.0.0.1:{port}/0")
    return work_off(app, url, count, size=COUNT, is_events=is_events)


def _parser() -> str:
    from redis.utils import HIREDIS_AVAILABLE

    return "hiredis" if HIREDIS_AVAILABLE else "pure Python"
