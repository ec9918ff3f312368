"""The KCL's table, both ways: rows as KCL 2.x and 3.x write them, and rows of ours as they read them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streamiter import KinesisStreams
from streamiter.errors import Conflict, InvalidStore
from streamiter.lease import Lease, Shards
from streamiter.position import Horizon
from streamiter.store import Row, Table, open_store
from streamiter.store.kcl import KCLStore
from streamiter.testing import Simulator, StoreRig
from streamiter.testing.stores import rows, together
from streamiter.testing.stores.sharing import lease

LEASES = Table("leases", "shop", "orders")

# As KCL 3.1.3 left them, shortened: a parent that was read, its children, and a row that is no lease.
KCL_ROWS = [
    {
        "leaseKey": {"S": "shardId-000000000000"},
        "leaseCounter": {"N": "41"},
        "leaseOwner": {"S": "java-1"},
        "ownerSwitchesSinceCheckpoint": {"N": "0"},
        "checkpoint": {"S": "SHARD_END"},
        "checkpointSubSequenceNumber": {"N": "0"},
        "childShardIds": {"SS": ["shardId-000000000001", "shardId-000000000002"]},
        "startingHashKey": {"S": "0"},
        "endingHashKey": {"S": "340282366920938463463374607431768211455"},
        "throughputKBps": {"N": "0.25"},
    },
    {
        "leaseKey": {"S": "shardId-000000000001"},
        "leaseCounter": {"N": "7"},
        "leaseOwner": {"S": "java-1"},
        "ownerSwitchesSinceCheckpoint": {"N": "2"},
        "checkpoint": {"S": "49590338271490256608559692538361571095921575989136588898"},
        "checkpointSubSequenceNumber": {"N": "3"},
        "parentShardId": {"SS": ["shardId-000000000000"]},
        "startingHashKey": {"S": "0"},
        "endingHashKey": {"S": "170141183460469231731687303715884105727"},
        "throughputKBps": {"N": "1.5"},
        "checkpointOwner": {"S": "java-0"},
        "pendingCheckpoint": {"S": "49590338271490256608559692538361571095921575989136588999"},
        "pendingCheckpointSubSequenceNumber": {"N": "0"},
        "somethingNew": {"M": {"a": {"S": "b"}}},
    },
    {"leaseKey": {"S": "shardId-000000000002"}, "leaseCounter": {"N": "0"}, "checkpoint": {"S": "TRIM_HORIZON"}},
    {"leaseKey": {"S": "Migration3.0"}, "entityType": {"S": "COORDINATOR_STATE"}, "mv": {"S": "x"}},
    {"leaseKey": {"S": "leader"}, "leaseCounter": {"N": "1"}, "checkpoint": {"S": "x"}, "entityType": {"S": "LOCK"}},
    {"leaseKey": {"S": "1:orders:9:shardId-1"}, "leaseCounter": {"N": "4"}, "checkpoint": {"S": "LATEST"}},
    {"leaseKey": {"S": "1:users:9:shardId-1"}, "leaseCounter": {"N": "5"}, "checkpoint": {"S": "17"}},
]


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator(table=None) as made:
        yield made


@pytest.fixture
def client(sim):
    return sim.client("dynamodb")


@pytest.fixture
def store(sim, client) -> Iterator[KCLStore]:
    with KCLStore("shop", client=client) as made:
        made.scan(LEASES)  # makes the table
        for item in KCL_ROWS:
            client.put_item(TableName="shop", Item=item)
        yield made


def item_of(client, key: str):
    return client.get_item(TableName="shop", Key={"leaseKey": {"S": key}}, ConsistentRead=True)["Item"]


def test_rows_of_the_kcl_are_leases(store):
    found = {row.key: Lease.of(row) for row in store.scan(LEASES)}
    assert sorted(found) == [f"shardId-00000000000{number}" for number in range(3)]
    parent, child, other = (found[key] for key in sorted(found))
    assert parent.completed
    assert parent.progress["children"] == ["shardId-000000000001", "shardId-000000000002"]
    assert (child.owner, child.version, child.parents) == ("java-1", 7, ("shardId-000000000000",))
    assert child.checkpoint == "49590338271490256608559692538361571095921575989136588898/3"
    assert child.progress == {"hash_keys": ["0", "170141183460469231731687303715884105727"]}
    assert other == Lease("shardId-000000000002", progress={})


def test_leases_of_one_stream_of_many(store):
    (row,) = store.scan(Table("leases", "shop", "1:users:9"))
    assert (row.key, row.fields["checkpoint"]) == ("shardId-1", "17")
    store.write(Table("leases", "shop", "1:users:9"), row, 5)
    assert store.read(Table("leases", "shop", "1:users:9"), "shardId-1").version == 6


def test_taking_and_reading_on_keep_what_is_not_ours(store, client):
    before = item_of(client, "shardId-000000000001")
    row = next(row for row in store.scan(LEASES) if row.key == "shardId-000000000001")
    taken = Lease.of(row)._replace(owner="w1", fence=1)
    store.write(LEASES, taken.row, 7)
    after = item_of(client, "shardId-000000000001")
    assert after["ownerSwitchesSinceCheckpoint"] == {"N": "3"}
    assert after["leaseCounter"] == {"N": "8"}
    assert after["pendingCheckpoint"] == before["pendingCheckpoint"]
    assert "checkpointOwner" not in after

    store.write(LEASES, taken._replace(checkpoint="4959/0", version=8).row, 8)
    last = item_of(client, "shardId-000000000001")
    assert (last["checkpoint"], last["checkpointSubSequenceNumber"]) == ({"S": "4959"}, {"N": "0"})
    assert last["ownerSwitchesSinceCheckpoint"] == {"N": "0"}
    assert not [name for name in last if name.startswith("pending")]
    for name in ("somethingNew", "throughputKBps", "startingHashKey", "endingHashKey", "parentShardId"):
        assert last[name] == before[name]


def test_a_lease_of_ours_is_one_of_the_kcl(store, client):
    store.write(LEASES, Lease("s9", parents=("s8",), progress={"start": "TRIM_HORIZON"}).row, None)
    item = item_of(client, "s9")
    assert {
        name: item[name] for name in ("leaseCounter", "checkpoint", "checkpointSubSequenceNumber", "parentShardId")
    } == {
        "leaseCounter": {"N": "1"},
        "checkpoint": {"S": "TRIM_HORIZON"},
        "checkpointSubSequenceNumber": {"N": "0"},
        "parentShardId": {"SS": ["s8"]},
    }
    assert item["ownerSwitchesSinceCheckpoint"] == {"N": "0"}
    assert "leaseOwner" not in item


def test_a_lease_of_ours_has_its_shards_hash_keys_as_the_kcl_wants_them(sim, store, client):
    stream = sim.create_stream("orders", "S1 => {S2, S3} ~ S4")
    source = KinesisStreams("orders", client=sim.client("kinesis"))
    iterator = source.open_iterator(stream.shard_id("S1"), Horizon())
    told = [*source.list_shards(None).shards, *source.fetch(iterator, 10).children]
    wanted = {
        shard["ShardId"]: shard["HashKeyRange"]
        for shard in sim.client("kinesis").list_shards(StreamName="orders")["Shards"]
    }
    assert {shard.id for shard in told} == wanted.keys()
    for shard in told:
        assert shard.hash_keys == tuple(wanted[shard.id].values())
    shards = Shards("TRIM_HORIZON")
    shards.begin_listing(0)
    shards.heard(told, {}, 0, 0)
    made = shards.wanted({})
    assert {one.key for one in made} == {stream.shard_id("S1"), stream.shard_id("S4")}
    for one in made:
        client.delete_item(TableName="shop", Key={"leaseKey": {"S": one.key}})
        store.write(LEASES, one.row, None)
        standing = store.read(LEASES, one.key)
        assert standing is not None and Lease.of(standing).says_same(one)
        item = item_of(client, one.key)
        assert [item[name]["S"] for name in ("startingHashKey", "endingHashKey")] == [*wanted[one.key].values()]
        assert "hash_keys" not in item["streamiterProgress"]["S"]


def test_a_shards_end_and_a_release_are_told_as_the_kcl_tells_them(store, client):
    row = next(row for row in store.scan(LEASES) if row.key == "shardId-000000000001")
    done = Lease.of(row).noting(children=["a", "b"])._replace(owner=None, completed=True, checkpoint="SHARD_END")
    store.write(LEASES, done.row, 7)
    item = item_of(client, "shardId-000000000001")
    assert (item["checkpoint"], sorted(item["childShardIds"]["SS"])) == ({"S": "SHARD_END"}, ["a", "b"])
    assert "leaseOwner" not in item


def test_a_renewal_of_the_kcl_is_a_conflict(store, client):
    row = next(row for row in store.scan(LEASES) if row.key == "shardId-000000000001")
    client.update_item(
        TableName="shop",
        Key={"leaseKey": {"S": row.key}},
        UpdateExpression="SET leaseCounter = leaseCounter + :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )
    with pytest.raises(Conflict) as caught:
        store.write(LEASES, Lease.of(row)._replace(owner="w1").row, 7)
    assert caught.value.standing.version == 8
    assert caught.value.standing.fields["owner"] == "java-1"


def test_other_rows_stand_in_a_table_beside(store, client):
    store.write(Table("workers", "shop", "orders"), Row("w1", {"asks": []}), None)
    assert store.read(Table("workers", "shop", "orders"), "w1") == Row("w1", {"asks": []}, 1)
    assert sorted(client.list_tables()["TableNames"]) == ["shop", "shop-streamiter"]
    store.delete(Table("workers", "shop", "orders"), "w1", 1)
    assert store.scan(Table("workers", "shop", "orders")) == []


def test_a_table_belongs_to_one_application(store):
    with pytest.raises(InvalidStore, match="holds the leases of shop"):
        store.scan(Table("leases", "another"))


RULES = [
    *[rows.new_rows_stand, rows.writes_need_the_version, rows.deletes_need_the_version, rows.scans_go_over_pages],
    *[rows.many_writes_are_each_by_themselves, rows.closing_twice_is_fine, together.threads_take_turns],
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.check.__name__)
def test_it_keeps_the_contract_of_stores(rule, client):
    with KCLStore("fresh", client=client) as store:
        rule.check(StoreRig(store, lambda: KCLStore("fresh", client=client)))


def test_its_url():
    assert repr(open_store("kcl+dynamodb://shop")) == "KCLStore('shop')"
    assert lease("x").key == "x"
