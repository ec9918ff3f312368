"""`spark.readStream`: micro-batches between tokens, each row once, whatever happens to shards and processes meanwhile."""

from __future__ import annotations

import json

from streamiter import DynamoDBStreams, Stream
from streamiter.spark import token_from_checkpoint
from streamiter.testing import ManualClock
from tests.stream.helpers import identities, in_order, write


def test_a_backlog_then_what_comes(queries, sim):
    sim.shape("S0 => {S1, S2}; T0 => T1")
    write(sim, "S0", "T0", "S1", "S2", "T1", rounds=3, every=0)
    queries.start()
    queries.until_rows(15)
    assert not {call.shard for call in sim.calls.of("GetRecords")} - {"S0", "S1", "S2", "T0", "T1"}
    sim.split("S1", "S3", "S4")
    sim.roll("T1", "T2")
    write(sim, "S3", "S4", "T2", "S2", rounds=2, every=0)
    queries.until_rows(23)
    assert queries.identities == identities(in_order(sim))
    check_lineage_across_batches(queries, sim)


def test_a_limit_keeps_batches_small_and_in_order(queries, sim):
    sim.shape("S0 => {S1, S2}")
    write(sim, "S0", "S1", "S2", rounds=5, every=0)
    queries.run(maxRecordsPerTrigger=4)
    # How many there are when a trigger asks is a matter of how fast pages come; that there are so many at most is not.
    assert all(1 <= len(batch.rows) <= 4 for batch in queries.batches)
    keys = [row.order_key for row in queries.rows]
    assert keys == sorted(keys), "with a limit, batches follow the order of all shards"
    assert queries.identities == identities(in_order(sim))


def test_bytes_are_a_limit_too(queries, sim):
    sim.shape("S0")
    for _ in range(6):
        sim.put("S0", new={"id": "a", "text": "x" * 100_000})
    queries.run(maxBytesPerTrigger="200k")
    assert all(1 <= len(batch.rows) <= 2 for batch in queries.batches)
    assert queries.identities == identities(in_order(sim))


def test_available_now_ends_at_what_was_there_and_goes_on_from_there(queries, sim):
    sim.shape("S0 => S1")
    write(sim, "S0", "S1", rounds=3, every=0)
    queries.run()
    assert len(queries.rows) == 6
    sim.roll("S1", "S2")
    write(sim, "S2", rounds=3, every=0)
    queries.run()
    assert queries.identities == identities(in_order(sim))
    before = len(queries.batches)
    queries.run()
    assert len(queries.batches) == before, "nothing new makes no batch"


def test_latest_begins_with_an_empty_batch_and_misses_nothing_from_then_on(queries, sim):
    sim.shape("S0")
    write(sim, "S0", rounds=3, every=0)
    sim.clock.advance(60)
    queries.start(startingPosition="LATEST")
    queries.until(lambda: len(queries.batches) == 1)
    assert queries.batches[0].rows == []
    new = sim.put("S0")
    queries.until_rows(1)
    assert queries.identities == [(new.shard_id, new.sequence_number)]


def test_an_idle_query_makes_no_batches_and_polls_each_shard_about_once_a_second(queries, sim):
    sim.shape("S0 ~ S1")
    write(sim, "S0", "S1", rounds=1, every=0)
    queries.start()
    queries.until_rows(2)
    batches = len(queries.batches)
    asked = sim.calls.total("GetRecords")
    queries.until(lambda: sim.calls.total("GetRecords") >= asked + 4)  # Spark's clock cannot be turned by hand
    before, listings, since = sim.calls.total("GetRecords"), sim.calls.total("DescribeStream"), sim.clock.now()
    queries.until(lambda: sim.clock.now() >= since + 4)
    polls, passed = sim.calls.total("GetRecords") - before, sim.clock.now() - since
    assert len(queries.batches) == batches
    assert polls <= 2 * (passed + 2)
    assert sim.calls.total("DescribeStream") - listings <= 2 + passed / 60
    assert not [
        call for call in sim.calls if call.operation not in ("GetRecords", "DescribeStream", "GetShardIterator")
    ]


def test_the_token_of_a_checkpoint_continues_in_a_stream_and_one_of_a_stream_in_a_query(queries, sim):
    sim.shape("S0 => {S1, S2}")
    now = int(sim.clock.now()) - 100
    for place, shard in enumerate(["S0", "S1", "S2"] * 3):
        sim.put(shard, created=now - place)  # children before their parent
    queries.run()
    queries.stop()
    token = token_from_checkpoint(str(queries.checkpoint))
    for place, shard in enumerate(["S1", "S2"] * 3):
        sim.put(shard, created=now - place)
    source = DynamoDBStreams(sim.stream_arn, client=sim.client())
    with Stream(source, token, clock=ManualClock(sim.clock.now() + 5)) as stream:
        [batch] = stream.batches(100, until="caught_up")
        after = stream.token
    rows = [(row.order_key, row.shard_id, row.sequence_number) for row in queries.rows]
    rows += [(record.order_key, record.shard_id, record.sequence_number) for record in batch]
    assert [row[1:] for row in sorted(rows)] == identities(in_order(sim))
    newer = [sim.put("S1"), sim.put("S2")]
    queries.checkpoint = queries.checkpoint.with_name("other")
    queries.batches.clear()
    queries.run(startingPosition=json.dumps(after))
    assert queries.identities == identities(newer)


def test_trimmed_data_fails_the_query_with_shard_and_place_and_skipping_goes_on(queries, sim):
    sim.shape("S0")
    write(sim, "S0", rounds=3, every=0)
    queries.run()
    write(sim, "S0", rounds=3, every=0)
    sim.trim("S0", before=5)
    queries.start()
    told = queries.error() or ""
    assert f"records of shard {sim.shard_id('S0')} after record {sim.history[2].sequence_number} may be lost" in told
    assert "failOnDataLoss=false" in told
    queries.run(failOnDataLoss="false")
    assert [row.sequence_number for row in queries.rows[3:]] == [sim.history[5].sequence_number]


def test_faults_while_a_query_runs_are_waited_out(queries, sim):
    sim.shape("S0 => {S1, S2}")
    write(sim, "S0", "S1", "S2", rounds=4, every=0)
    sim.misbehave(seed=11)
    queries.start()
    for shard in ("S1", "S2", "S1"):
        write(sim, shard, rounds=2, every=0)
    sim.roll("S1", "S3")
    write(sim, "S3", "S2", rounds=3, every=0)
    queries.until_rows(24)
    sim.heal()
    assert sorted(queries.identities) == sorted(identities(sim.history))


def check_lineage_across_batches(queries, sim) -> None:
    """No record of a shard comes in an earlier micro-batch than one of its parent."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for batch in queries.batches:
        for row in batch.rows:
            first.setdefault(row.shard_id, batch.id)
            last[row.shard_id] = batch.id
    for shard_id in first:
        parent = sim.shard(shard_id).parent_id
        assert parent not in last or last[parent] <= first[shard_id]
