"""acks="group" over a real Valkey: a consumer group shared with other programs, read under the lease, acked by XACK."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from streamiter import App
from streamiter.app.pages import ShardPages
from streamiter.errors import InvalidOption, TransientError
from streamiter.lease import Lease
from streamiter.log import Entry, MemoryLog
from streamiter.log.redis import RedisLog
from streamiter.log.redis_group import RedisGroup
from streamiter.source.sharing import Guard
from tests.log.redis_rig import fill
from tests.store import servers

APPS = itertools.count()
ROW = "__lock:{a.bill}.0"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with servers.valkey(tmp_path_factory.mktemp("valkey")) as port:
        yield port


@pytest.fixture
def client(port: int) -> Iterator[redis.Redis]:
    with redis.Redis(port=port) as client:
        client.flushall()
        yield client


@pytest.fixture
def log(port: int, client: redis.Redis) -> Iterator[RedisLog]:
    log = RedisLog(f"redis://127.0.0.1:{port}/orders?app=a")
    log.grow(1)
    yield log
    log.close()


KEY = "__strm:a.orders.0"


class Reader:
    """What an app does with one lease, step by step."""

    def __init__(self, log: RedisLog, client: redis.Redis, fence: int = 1, checkpoint: str = "TRIM_HORIZON") -> None:
        client.hset(ROW, mapping={".owner": '"w"', ".fence": str(fence)})
        self.group = RedisGroup(log, "bill", "a")
        self.group.join("0", Guard(log.identity(), ROW, '"w"', str(fence)))
        self.pages = ShardPages(self.group, Lease("0", fence=fence, checkpoint=checkpoint, owner="w"), 100)
        self.checkpoints: list[Any] = []

    def read(self) -> list[int]:
        """One page."""
        read = self.pages.turn(0)
        assert read.gap is None, read.gap
        if read.error is not None:
            raise read.error
        self.checkpoints += read.checkpoints
        return [int(record.payload) for record in read.records]

    def read_all(self) -> list[int]:
        found: list[int] = []
        while page := self.read():
            found += page
        return found

    def done(self, count: int) -> None:
        """The checkpoint is behind so many records."""
        self.group.publish("bill", {"0": int(self.checkpoints[count - 1])})


def pending(client: redis.Redis) -> list[Any]:
    return [told["message_id"] for told in client.xpending_range(KEY, "bill", "-", "+", 1000)]


def test_what_is_read_is_pending_until_the_checkpoint_is_behind_it(log, client):
    fill(log, 10)
    reader = Reader(log, client)
    assert reader.read_all() == list(range(10)) and len(pending(client)) == 10
    reader.done(4)
    assert len(pending(client)) == 6
    reader.done(10)
    assert pending(client) == []
    (group,) = client.xinfo_groups(KEY)
    assert (group["lag"], group["consumers"]) == (0, 1)


def test_other_programs_have_their_share_and_nothing_comes_to_both(log, client):
    reader, theirs = Reader(log, client), []
    for turn in range(6):
        fill(log, 10, first=10 * turn)
        if turn % 2:
            ((_, entries),) = client.xreadgroup("bill", "them", {KEY: ">"}, count=7)
            theirs += [int(fields[b"payload"]) for _, fields in entries]
        else:
            reader.read()
    ours = [int(log.read(0, int(place) - 1, 1).records[0].payload) for place in reader.checkpoints]
    assert not set(ours) & set(theirs)
    rest = reader.read_all()
    assert sorted(ours + theirs + rest) == list(range(60))
    assert ours + rest == sorted(ours + rest)


def test_the_next_owner_gets_what_was_read_and_not_done(log, client):
    fill(log, 10)
    first = Reader(log, client)
    first.read_all()
    first.done(3)
    fill(log, 2, first=10)
    second = Reader(log, client, 2, first.checkpoints[4])  # the XACK of two more did not come through
    assert second.read_all() == list(range(5, 12))
    assert second.checkpoints[:5] == first.checkpoints[5:]  # an entry has one number, however it came
    assert len(pending(client)) == 7
    with pytest.raises(TransientError, match="not this worker's any more"):
        first.read()
    first.done(10)
    assert len(pending(client)) == 7  # the former owner acks nothing
    second.done(7)
    assert pending(client) == []


def test_an_answer_that_was_lost_is_asked_for_again(log, client, monkeypatch):
    fill(log, 5)
    reader = Reader(log, client)
    run, lost = log.run, []

    def loses(script: Any, keys: Any, told: Any) -> Any:
        answer = run(script, keys, told)
        if not lost and answer and isinstance(answer, list) and answer[0] == b"new":
            lost.append(answer)
            raise TransientError("the answer is lost")
        return answer

    monkeypatch.setattr(log, "run", loses)
    with pytest.raises(TransientError, match="is lost"):
        reader.read()
    assert reader.read_all() == list(range(5))


def test_a_pending_entry_whose_body_was_trimmed_is_a_gap_and_no_crash(log, client):
    fill(log, 10)
    first = Reader(log, client)
    first.read_all()
    client.xtrim(KEY, maxlen=4, approximate=False)
    second = Reader(log, client, 2, first.checkpoints[2])
    assert second.pages.turn(0).gap is not None
    assert second.pages.turn(0).gap is not None  # until it is accepted
    second.pages.restart()
    assert second.read_all() == [6, 7, 8, 9]
    second.done(4)
    assert pending(client) == []


@pytest.mark.parametrize("left", [0, 2])
def test_entries_that_were_trimmed_before_anybody_had_them_are_a_gap(log, client, left):
    fill(log, 5)
    reader = Reader(log, client)
    assert reader.read_all() == list(range(5))
    fill(log, 5, first=5)
    client.xtrim(KEY, maxlen=left, approximate=False)
    assert reader.pages.turn(0).gap is not None
    reader.pages.restart()
    assert reader.read_all() == list(range(10 - left, 10))
    fill(log, 1, first=10)
    assert reader.read_all() == [10]


def test_a_loss_before_the_first_record_is_told_too(log, client):
    reader = Reader(log, client)
    assert reader.read_all() == []
    fill(log, 5)
    client.xtrim(KEY, maxlen=1, approximate=False)
    assert reader.pages.turn(0).gap is not None


def test_a_group_that_another_program_made_is_counted_and_gone_on_with(log, client):
    fill(log, 10)
    ids = [written for written, _ in client.xrange(KEY)]
    client.xgroup_create(KEY, "bill", id=ids[5])  # it says nothing of how many stand before
    reader = Reader(log, client)
    assert reader.read_all() == [6, 7, 8, 9]
    assert client.xinfo_groups(KEY)[0]["lag"] == 0
    plain = log.read(0, 0, 100).records
    assert [int(place) for place in reader.checkpoints] == [record.number for record in plain[6:]]


def test_a_group_that_was_removed_goes_on_behind_what_was_read(log, client):
    fill(log, 5)
    reader = Reader(log, client)
    assert reader.read_all() == list(range(5))
    client.xgroup_destroy(KEY, "bill")
    fill(log, 3, first=5)
    assert reader.read_all() == [5, 6, 7]
    client.delete(KEY)
    fill(log, 3)
    assert reader.pages.turn(0).gap is not None  # the stream was deleted and made again
    reader.pages.restart()
    assert reader.read_all() == [0, 1, 2]


def test_a_full_partition_keeps_what_is_pending(port, client):
    log = RedisLog(f"redis://127.0.0.1:{port}/orders?app=a&partition_size=10")
    log.grow(1)
    fill(log, 10)
    reader = Reader(log, client)
    reader.read_all()
    reader.done(6)
    fill(log, 5, first=10)
    assert client.xlen(KEY) == 9  # four are pending, five are new
    log.close()


def test_an_app_shares_a_group_with_another_program(port, client, log):
    url = f"redis://127.0.0.1:{port}/orders?app=a"
    shop = App("a", store=f"redis://localhost:{port}/0")
    ours: list[int] = []
    theirs: list[int] = []
    fill(log, 300)

    def other() -> None:
        with redis.Redis(port=port) as they:
            client.xgroup_create(KEY, "bill", id="0")
            for ((_, entries),) in iter(lambda: they.xreadgroup("bill", "them", {KEY: ">"}, count=5), []):
                theirs.extend(int(fields[b"payload"]) for _, fields in entries)
                they.xack(KEY, "bill", *[written for written, _ in entries])
                if len(theirs) >= 50:
                    return

    @shop.processor(url, acks="group", size=10)
    async def bill(batch: Any) -> None:
        ours.extend(int(record.payload) for record in batch)
        if len(ours) + len(theirs) == 300:
            shop.stop()

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    shop.run()
    assert sorted(ours + theirs) == list(range(300)) and len(theirs) == 50
    assert pending(client) == [] and client.xinfo_groups(KEY)[0]["lag"] == 0
    assert [told["name"] for told in client.xinfo_consumers(KEY, "bill")] == [b"a", b"them"]


def test_a_topic_is_shared_as_its_log_is(port, client):
    shop = App("a", store=f"redis://127.0.0.1:{port}/0")
    orders = shop.topic(f"redis://127.0.0.1:{port}/orders?app=a", record=dict, partition_by="id", partitions=2)
    orders.sendmany([{"id": number} for number in range(40)])
    seen: list[int] = []

    @shop.processor(orders, acks="group", order="key", concurrency=4)
    async def bill(value: Any) -> None:
        seen.append(value["id"])
        if len(seen) == 40:
            shop.stop()

    shop.run()
    assert sorted(seen) == list(range(40))
    groups = [client.xinfo_groups(f"__strm:a.orders.{partition}")[0] for partition in range(2)]
    assert [(group["lag"], group["pending"]) for group in groups] == [(0, 0), (0, 0)]


@pytest.mark.parametrize(
    "source, store, says",
    [
        ("log", "memory:", "holds no leases that a log could look at"),
        ("log", "redis://127.0.0.1:{port}/1", "one database of one server"),
        ("memory", "redis://127.0.0.1:{port}/0", "no groups of consumers"),
    ],
)
def test_what_cannot_share_a_group_says_why(port, log, source, store, says):
    shop = App("a", store=store.format(port=port))

    @shop.processor(log if source == "log" else MemoryLog(), acks="group")
    async def bill(batch: Any) -> None: ...

    with pytest.raises(InvalidOption, match=says):
        shop.run()


def test_total_order_shares_no_group():
    shop = App("a", store="memory:")
    with pytest.raises(InvalidOption, match="acks='group' goes with order='shard' and 'key'"):

        @shop.processor(MemoryLog(), acks="group", order="total")
        async def bill(batch: Any) -> None: ...


def test_in_a_trial_the_records_are_given():
    shop = App("a", store="memory:")
    seen: list[bytes] = []

    @shop.processor("redis://127.0.0.1:1/orders", acks="group")
    async def bill(batch: Any) -> None:
        seen.extend(record.payload for record in batch)

    log = MemoryLog()
    log.append(0, [Entry(b"1")])
    shop.test({"bill": log})
    assert seen == [b"1"]
