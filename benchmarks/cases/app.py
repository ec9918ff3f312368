"""An app: what leases and acks cost beside a stream; peers; how soon work goes on elsewhere; and what an idle fleet asks."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from benchmarks.canned.process import ROOT, Canned, canned
from benchmarks.measure import Comparison, Reading, Scale, check_same, compare, start, take_turns
from benchmarks.results import Result, Row
from benchmarks.sides import Side
from benchmarks.tables import tables

TITLE = "an app of one worker: 1 shard, batches of 1,000, a processor that does nothing"
SIZE = 1_000
LATENCY = 0.02
KINESIS_SHARDS = 8
PAYLOAD_BYTES = 250
KEYS = 64
FAILOVER_SECONDS = 2.0
LEASES = 100


class Kcl(NamedTuple):
    """The Kinesis Client Library's defaults, in seconds.

    As its documentation tells them (docs/kcl-configurations.md of awslabs/amazon-kinesis-client): failoverTimeMillis 10,000,
    idleTimeBetweenReadsInMillis 1,500, shardSyncIntervalMillis 60,000. Its DynamoDBLeaseCoordinator (2.x), which logs them at
    its start, makes of that: renewals each failover / 3 less an epsilon of 25 ms, scans for leases to take each two failovers
    and epsilons.
    """

    renewal: float = 10 / 3 - 0.025
    scan: float = 2 * (10 + 0.025)
    read: float = 1.5
    listing: float = 60.0

    def a_minute(self, leases: int, workers: int) -> dict[str, float]:
        """Calls to store and source, of an idle fleet."""
        return {
            "renewals": leases * 60 / self.renewal,
            "scans": workers * 60 / self.scan,
            "GetRecords": leases * 60 / self.read,
            "ListShards": 60 / self.listing,
        }


def run(scale: Scale) -> Result:
    """One worker against `Stream.batches` and against peers, keys side by side, a worker that is killed, and an idle fleet."""
    found: list[tuple[list[Row], dict[str, Any]]] = []
    with ExitStack() as stack:
        sides = start(stack, "app")
        found.append(_one_worker(scale, sides["app"]))
        found.append(_keys(scale, sides["app"]))
        found.append(_failover(scale))
        found.append(_idle(scale, sides["app"]))
        versions = {"streamiter": sides["app"].versions}
    with ExitStack() as stack:
        peers = start(stack, "app on Kinesis", "async-kinesis", "native-aws-kcl-py")
        found.insert(1, _peers(scale, peers))
        versions |= {name: one.versions for name, one in peers.items() if name != "app on Kinesis"}
    measured: dict[str, Any] = {}
    for _, told in found:
        measured |= told
    return Result([row for rows, _ in found for row in rows], measured, versions)


def _one_worker(scale: Scale, side: Side) -> tuple[list[Row], dict[str, Any]]:
    records = scale.of(200_000, 4_000)
    many = scale.of(100, 4)
    near, far = [_beside_stream(scale, side, records, *told) for told in ((1, 0.0), (many, LATENCY))]
    return [
        near.row(TITLE, "Stream.batches(1000)", 0.8),
        far.row(f"the same: {many} shards, 20 ms a call", "Stream.batches(1000)", 0.8),
    ], {"one_shard": near.told(records), "many_shards": far.told(records)}


def _beside_stream(scale: Scale, side: Side, records: int, shards: int, latency: float) -> Comparison:
    with canned(records, shards, latency=latency) as server:

        def reading(action: str) -> Reading:
            return Reading(side, action, server, shards, records, {"size": SIZE, "images": True})

        _check_app(reading("check"), reading("check_app"))
        (found,) = compare(reading("batches"), [reading("stream")], scale.runs)
        return found


def _check_app(stream: Reading, app: Reading) -> None:
    told = [one.do().value for one in (stream, app)]
    if told[0] != told[1]:
        raise AssertionError(f"app and stream did not read the same records: {told}")


def _peers(scale: Scale, sides: dict[str, Side]) -> tuple[list[Row], dict[str, Any]]:
    """On Kinesis: 8 shards, of which payloads are used; nobody is slowed down to the service's rates."""
    records = scale.of(160_000, 4_000)
    with ExitStack() as stack:
        server = stack.enter_context(canned(records, KINESIS_SHARDS, record_bytes=PAYLOAD_BYTES, kinesis=True))
        options = {"tables_url": stack.enter_context(tables())}

        def reading(name: str) -> Reading:
            return Reading(sides[name], "payloads", server, KINESIS_SHARDS, records, options)

        check_same([reading(name) for name in sides], images=False)
        names = ("async-kinesis", "native-aws-kcl-py")
        compared = compare(reading("app on Kinesis"), [reading(name) for name in names], scale.runs)
        rows = [
            found.row("an app on Kinesis: catch up on 8 shards, payload bytes", name, 5)
            for name, found in zip(names, compared, strict=True)
        ]
        rows[1].work = "the same"
        told = {name.replace("-", "_"): found.told(records) for name, found in zip(names, compared, strict=True)}
        return rows, {"kinesis": told}


def _keys(scale: Scale, side: Side) -> tuple[list[Row], dict[str, Any]]:
    """A processor that waits 5 ms with each record: 64 keys side by side, and one record at a time."""
    counts = {KEYS: scale.of(12_800, 256), 1: scale.of(400, 20)}
    with canned(max(counts.values()), 1) as server:
        found = take_turns(
            {keys: Reading(side, "keys", server, 1, count, {"keys": keys}) for keys, count in counts.items()},
            scale.runs,
        )
    rates = {keys: [counts[keys] / one.seconds for one in outcomes] for keys, outcomes in found.items()}
    ratios = [many / one for many, one in zip(rates[KEYS], rates[1], strict=True)]
    row = Row('order="key", 64 keys, a processor that awaits 5 ms', "one record at a time", ratios, 20)
    return [row], {"keys": {str(keys): _middle(told) for keys, told in rates.items()}}


def _failover(scale: Scale) -> tuple[list[Row], dict[str, Any]]:
    """From the kill of one of two workers to the first delivery of its lease's records by the other one."""
    runs = scale.of(max(5, scale.runs), 1)
    with canned(scale.of(100_000, 20_000), 2) as server:
        # Each time at another moment between two renewals.
        seconds = [_killed(server, FAILOVER_SECONDS / 3 * (number + 0.5) / runs) for number in range(runs)]
    row = Row(
        "from kill -9 of a worker to the first delivery elsewhere",
        "its failover of 2 s",
        [told / FAILOVER_SECONDS for told in seconds],
        1.5,
        is_at_most=True,
    )
    return [row], {"failover": {"failover_seconds": FAILOVER_SECONDS, "seconds": seconds, "kills": runs}}


def _killed(server: Canned, moment: float) -> float:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-app-"))
        told = {"endpoint_url": server.endpoint_url, "arn": server.arn(2), "store": f"sqlite:///{folder}/bench.db"}
        victim = stack.enter_context(_Worker.at_work(told))
        leases = {victim.delivered().lease}
        while len(leases) < 2:
            leases.add(victim.delivered().lease)
        other = stack.enter_context(_Worker.at_work(told))
        kept = leases - {other.delivered().lease}
        until = time.monotonic() + FAILOVER_SECONDS + moment
        while (last := other.delivered()).at < until:  # so that both are at rest
            if last.lease in kept:
                raise AssertionError("the second worker took both leases of a first one that lives")
        at = time.monotonic()
        victim.process.kill()
        while (first := other.delivered()).lease not in kept:
            pass
        return first.at - at


class _Delivery(NamedTuple):
    """A batch in a worker's hands."""

    lease: str
    at: float  # by the clock that all processes of a machine share


class _Worker:
    """A worker's process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    @classmethod
    @contextmanager
    def at_work(cls, told: dict[str, Any]) -> Iterator[_Worker]:
        """Starts one; kills it at the end."""
        said = json.dumps({**told, "failover": FAILOVER_SECONDS})
        command = [sys.executable, "-m", "benchmarks.readers.app_worker", said]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield cls(process)
            finally:
                process.kill()

    def delivered(self) -> _Delivery:
        """The next batch that it was handed."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("a worker ended by itself")
        return _Delivery(**json.loads(line))


def _idle(scale: Scale, side: Side) -> tuple[list[Row], dict[str, Any]]:
    """Two workers with 100 leases, nothing to read: calls in a minute, counted by the store and by the canned server."""
    leases = scale.of(LEASES, 4)
    seconds = scale.of(60, 2)
    with canned(0, leases) as server:
        told = side.do("idle", server, leases, leases=leases, seconds=seconds, settle_seconds=scale.of(15, 1)).value
    none: dict[str, dict[str, float]] = {
        "store": dict.fromkeys(("rows_written", "rounds_of_writes", "scan"), 0.0),
        "source": dict.fromkeys(("GetRecords", "DescribeStream"), 0.0),
    }
    ours = {
        where: none[where] | {name: count * 60 / seconds for name, count in counts.items()}
        for where, counts in told.items()
    }
    kcl = Kcl().a_minute(leases, 2)
    store = ours["store"]["rows_written"] + ours["store"]["scan"]
    ratios = {
        "store": store / (kcl["renewals"] + kcl["scans"]),
        "source": sum(ours["source"].values()) / (kcl["GetRecords"] + kcl["ListShards"]),
    }
    rows = [
        Row(
            f"an idle fleet of {leases} leases and 2 workers: {words}",
            "the KCL's defaults",
            [ratios[where]],
            None,
            True,
            True,
        )
        for where, words in (("store", "rows written and scans"), ("source", "calls to the source"))
    ]
    return rows, {"idle": {"leases": leases, "a_minute": ours, "kcl_a_minute": kcl}}


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
