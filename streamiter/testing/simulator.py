"""The simulator: a DynamoDB Streams service on loopback, whose time, shards and bad days a test holds in its hand.

with Simulator() as sim:
    sim.shape("S0 => {S1, S2}")
    sim.put("S0", key="a", new={"id": "a", "n": 1})
    sim.fault(operation="GetRecords", shard="S1", times=3, kind="throttle")
    stream = Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock)
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from streamiter.testing.clients import make_client
from streamiter.testing.clock import ManualClock
from streamiter.testing.http.calls import Calls
from streamiter.testing.http.reception import Reception
from streamiter.testing.http.server import HOST, Server
from streamiter.testing.kinesis.handle import KinesisHandle
from streamiter.testing.table import Table
from streamiter.testing.trouble.injected import Fault, Kind
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.trouble.weather import Chances, Weather
from streamiter.testing.truth.records import ViewType
from streamiter.testing.truth.service import ACCOUNT, Service
from streamiter.testing.truth.simulated_table import nobodys_table

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Simulator(Table):
    """A service of its own, with one table to begin with (or none: `table=None`); it is itself that table's handle.

    Ids: "given" serves the names of `shape` as shard ids, which are shorter than boto3 lets pass unless its client is made
    with parameter_validation=False (as `client` does); "service" gives each name an id in the service's form.
    Region: that of the client that makes a table, unless one is given. Hosts: names that it answers to besides those of
    loopback. Token: what calls of `Simulator.*` have to send as X-Simulator-Token, if anything.
    """

    def __init__(
        self,
        lineage: str = "",
        *,
        table: str | None = "users",
        hash_key: str = "id",
        view: ViewType = "NEW_AND_OLD_IMAGES",
        clock: ManualClock | None = None,
        knobs: Knobs | None = None,
        ids: Literal["given", "service"] = "given",
        region: str | None = None,
        account: str = ACCOUNT,
        port: int = 0,
        hosts: Iterable[str] = (),
        token: str | None = None,
    ) -> None:
        self.clock = clock or ManualClock()
        self.knobs = knobs or Knobs()
        self._service = Service(self.knobs, region, account)
        self._ids_kept = ids == "given"
        reception = Reception(self._service, self.clock, self.knobs, short_ids=self._ids_kept)
        if table is None:
            super().__init__(reception, nobodys_table(), keep_ids=self._ids_kept)
        else:
            truth = self._service.create_table(table, _key_schema(hash_key), reception.now_us)
            super().__init__(reception, truth, keep_ids=self._ids_kept)
            self.enable(lineage, view=view)
        reception.token = token
        self._server = Server(reception, port, hosts=hosts)

    @property
    def endpoint_url(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self._server.port}"

    @property
    def calls(self) -> Calls:
        """Every call so far."""
        return self._reception.calls

    def client(self, service: str = "dynamodbstreams", **options: Any) -> Any:
        """A boto3 client that talks to it, without retries of its own; `options` go to boto3, `config` is merged in."""
        return make_client(service, self.endpoint_url, validates=not self._ids_kept, options=options)

    def create_table(
        self,
        name: str,
        lineage: str = "",
        *,
        hash_key: str = "id",
        stream: bool = True,
        view: ViewType = "NEW_AND_OLD_IMAGES",
    ) -> Table:
        """One more table, with a stream or without."""
        with self._reception.lock:
            truth = self._service.create_table(name, _key_schema(hash_key), self._reception.now_us)
            table = Table(self._reception, truth, keep_ids=self._ids_kept)
            if stream:
                table.enable(lineage, view=view)
            return table

    def create_stream(self, name: str, lineage: str = "", *, retention_hours: float = 24) -> KinesisHandle:
        """A Kinesis stream; `kinesis(name)` gives the handle of one that a client made."""
        with self._reception.lock:
            truth = self._reception.kinesis.create(name, self._reception.now_us)
            handle = KinesisHandle(self._reception, truth)
            handle.retention_hours = retention_hours
            if lineage:
                handle.shape(lineage)
            return handle

    def kinesis(self, name: str) -> KinesisHandle:
        """The handle of a Kinesis stream, also of one that a client made."""
        with self._reception.lock:
            streams = self._reception.kinesis.streams
            if name not in streams:
                raise LookupError(f"there is no Kinesis stream {name!r}; there are: {', '.join(streams) or 'none'}")
            return KinesisHandle(self._reception, streams[name])

    def table(self, name: str) -> Table:
        """The handle of a table, also of one that a client made."""
        with self._reception.lock:
            if name not in self._service.tables:
                raise LookupError(f"there is no table {name!r}; there are: {', '.join(self._service.tables)}")
            return Table(self._reception, self._service.tables[name], keep_ids=self._ids_kept)

    def fault(
        self,
        operation: str | None = None,
        shard: str | None = None,
        *,
        kind: Kind,
        times: int | None = 1,
        after: int = 0,
        seconds: float = 0.05,
    ) -> Fault:
        """Spoils calls: `times` of them (None: all), after `after` more of those that it meets. See `faults.Kind`."""
        fault = Fault(kind, operation, shard, times, after, seconds)
        with self._reception.lock:
            self._reception.faults.add(fault)
        return fault

    def misbehave(self, seed: int = 0, **chances: Unpack[Chances]) -> Weather:
        """Bad days at random, from now until `heal`: `sim.misbehave(seed=7, cuts=0)`. The seed says which; see `Weather`."""
        self.knobs.weather = Weather(seed, **chances)
        return self.knobs.weather

    def heal(self, fault: Fault | None = None) -> None:
        """Withdraws a fault, or all of them and the weather; calls that hang get their answers."""
        with self._reception.lock:
            if fault is None:
                self.knobs.weather = None
            self._reception.faults.withdraw(fault)

    def at_once(self) -> AbstractContextManager[object]:
        """`with sim.at_once():` several things happen, and no call sees only some of them."""
        return self._reception.lock

    def close(self) -> None:
        """Ends it; no thread and no socket is left."""
        self.heal()
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _key_schema(hash_key: str) -> list[dict[str, str]]:
    return [{"AttributeName": hash_key, "KeyType": "HASH"}]
