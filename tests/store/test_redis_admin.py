"""The lock of operators in Redis: one at a time, and it never outlives its holder for long."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from streamiter.errors import Throttled
from streamiter.lease import Lease, operator
from streamiter.store import Row, Table
from streamiter.store.redis import RedisStore
from tests.store import servers

TABLE = Table("leases", "shop", "bill")
KEY = "__lock:{shop.bill}.admin"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with servers.valkey(tmp_path_factory.mktemp("valkey")) as port:
        yield port


@pytest.fixture
def client(port: int) -> Iterator[redis.Redis]:
    with redis.Redis(port=port) as client:
        client.flushall()
        yield client


def test_one_operator_changes_leases_at_a_time(port: int, client: redis.Redis):
    with RedisStore(f"redis://127.0.0.1:{port}/0") as store, RedisStore(f"redis://127.0.0.1:{port}/0") as other:
        with store.alone(TABLE):
            assert client.get(KEY) and 0 < client.pttl(KEY) <= 60_000
            with pytest.raises(Throttled, match="an operator changes the leases of shop, bill just now"):
                operator.seed(other, TABLE, [Lease("0")])
            other.write(TABLE, Lease("1").row, None)  # workers take no notice
        assert client.get(KEY) is None
        operator.release(other, TABLE, "1", by_force=True)
        assert client.get(KEY) is None


def test_a_lock_that_another_one_has_since_is_left_alone(port: int, client: redis.Redis):
    with RedisStore(f"redis://127.0.0.1:{port}/0") as store:
        with store.alone(TABLE):
            client.set(KEY, "another one")  # ours had expired
        assert client.get(KEY) == b"another one"


def test_a_lease_may_be_called_as_the_lock_is(port: int, client: redis.Redis):
    with RedisStore(f"redis://127.0.0.1:{port}/0") as store:
        lease = Lease("admin")
        with store.alone(TABLE):
            store.write(TABLE, lease.row, None)
        assert store.scan(TABLE) == [Row("admin", lease.row.fields, 1)] == [store.read(TABLE, "admin")]
