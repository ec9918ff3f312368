"""The Redis log over a real Valkey: what is added comes out, what was lost is told, other clients may add."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from streamiter import App, Stream
from streamiter.errors import InvalidStream, PositionTrimmed, RecordsExpired, ShardGone, Throttled
from streamiter.log import Entry, Log
from streamiter.log.locate import open_log
from streamiter.testing import check_log
from tests.log.redis_rig import fill, payloads, redis_rig
from tests.store import servers

APPS = itertools.count()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with servers.valkey(tmp_path_factory.mktemp("valkey")) as port:
        yield port


@pytest.fixture
def app() -> str:
    return f"app{next(APPS)}"


@pytest.fixture
def client(port: int) -> Iterator[redis.Redis]:
    with redis.Redis(port=port) as client:
        yield client


@pytest.fixture
def log(port: int, app: str) -> Iterator[Log]:
    yield from made(port, app)


def made(port: int, app: str, more: str = "", partitions: int = 2) -> Iterator[Log]:
    log = open_log(f"redis://127.0.0.1:{port}/orders?app={app}{more}")
    log.grow(partitions)
    yield log
    log.close()


def test_what_is_appended_comes_out_as_it_was(log: Log, app: str, client: redis.Redis):
    entry = Entry(b"\x00\xff", b"k", (("trace", b"1"), ("payload", b"2")))
    numbers = log.append(1, [entry, Entry(b"plain"), Entry(b"keyed", b"\xfe")])
    found = log.read(1, 0, 10)
    assert [record.number for record in found.records] == numbers == sorted(numbers)
    assert [Entry(told.raw_payload, told.key, told.headers) for told in found.records] == [
        entry,
        Entry(b"plain"),
        Entry(b"keyed", b"\xfe"),
    ]
    assert found.is_tip and {record.shard_id for record in found.records} == {"1"}
    assert client.xlen(f"__strm:{app}.orders.1") == 3
    assert client.hgetall(f"__strm:{app}.orders") == {b"partitions": b"2"}


def test_the_number_before_an_entry_is_a_place_before_it(log: Log):
    numbers = fill(log, 5)
    for index, number in enumerate(numbers):
        assert payloads(log, number - 1, 1) == [b"%d" % index]
        assert payloads(log, number, 1) == payloads(log, number + 1, 1) == [b"%d" % (index + 1)][: 4 - index]


def test_no_entry_is_ever_stamped_before_the_time_of_a_look(log: Log):
    fill(log, 1)
    for _ in range(200):
        looked = log.read(0, 0, 1).service_us
        (number,) = fill(log, 1)
        (record,) = log.read(0, number - 1, 1).records
        assert record.created_us is not None and looked is not None and record.created_us >= looked


def test_another_client_may_add_entries_of_its_own(log: Log, app: str, client: redis.Redis):
    key = f"__strm:{app}.orders.0"
    client.xadd(key, {"payload": '{"a": 1}', "key": "k", "from": "elsewhere"})
    client.xadd(key, {"user": "Zoë", "total": 12, b"\xff": b"\xfe"})
    client.xadd(key, {"key": "k", "n": 1}, id="99999999999999999-7")
    ours, theirs, late = log.read(0, 0, 10).records
    assert (ours.payload, ours.key, ours.headers) == (b'{"a": 1}', b"k", (("from", b"elsewhere"),))
    assert json.loads(theirs.payload) == {"user": "Zoë", "total": "12", "\\xff": "\\xfe"}
    assert dict(theirs.headers)["\\xff"] == b"\xfe" and theirs.key is None
    assert (late.key, late.created_us) == (b"k", None)


def test_a_tombstone_is_told_from_a_field_of_another_client_s(log: Log, app: str, client: redis.Redis):
    log.append(0, [Entry(None, b"k", (("tombstone", b"h"),))])
    client.xadd(f"__strm:{app}.orders.0", {"user": "ann", "tombstone": ""})
    ours, theirs = log.read(0, 0, 10).records
    assert (ours.payload, ours.key, ours.headers) == (None, b"k", (("tombstone", b"h"),))
    assert json.loads(theirs.payload) == {"user": "ann", "tombstone": ""}


def test_a_field_that_stands_there_twice_is_not_lost(log: Log, app: str, client: redis.Redis):
    client.execute_command(
        "XADD", f"__strm:{app}.orders.0", "*", "payload", "1", "payload", "2", "key", "a", "key", "b"
    )
    (record,) = log.read(0, 0, 10).records
    assert (record.payload, record.key, record.headers) == (b"2", b"b", (("payload", b"1"), ("key", b"a")))


@pytest.mark.parametrize("written", ["abc", "-4", "0", ""])
def test_a_number_of_partitions_that_is_none_is_told_and_mended(log: Log, app: str, client: redis.Redis, written: str):
    client.hset(f"__strm:{app}.orders", "partitions", written)
    with pytest.raises(InvalidStream, match=rf"HSET __strm:{app}.orders partitions"):
        log.partitions()
    log.grow(3)
    assert log.partitions() == 3


def test_a_key_of_another_type_is_told_with_what_it_is_to_be(log: Log, app: str, client: redis.Redis):
    client.set(f"__strm:{app}.orders.0", "something else")
    for call in (
        lambda: log.read(0, 0, 10),
        lambda: log.append(0, [Entry(b"")]),
        lambda: log.publish("bill", {"0": 10}),
    ):
        with pytest.raises(InvalidStream, match=rf"__strm:{app}.orders.0 and so on are streams"):
            call()


def test_partitions_grow_and_never_shrink(log: Log):
    log.grow(5)
    log.grow(3)
    assert log.partitions() == 5
    with pytest.raises(ShardGone, match="has no partition 5"):
        log.append(5, [Entry(b"")])


def test_a_log_that_nobody_made_is_told(port: int):
    log = open_log(f"redis://127.0.0.1:{port}/nothing")
    with pytest.raises(InvalidStream, match="HSET __strm:streamiter.nothing partitions"):
        Stream(log)
    log.close()


def test_it_keeps_the_contract_of_logs(port: int):
    report = check_log(lambda: redis_rig(port))
    assert "the rig has no silence and no hasty" not in report.passed_over.values()
    assert len(report.kept) > 40


# -- what is gone


def test_a_trim_of_what_was_read_is_no_gap(log: Log):
    numbers = fill(log, 10)
    log.trim(0, numbers[5])
    assert payloads(log, numbers[4]) == [b"%d" % n for n in range(5, 10)]
    log.trim(0, numbers[5] + 1)
    assert payloads(log, numbers[5]) == [b"6", b"7", b"8", b"9"]
    assert payloads(log, numbers[6]) == [b"7", b"8", b"9"]
    with pytest.raises(PositionTrimmed, match="1 entries behind"):
        log.read(0, numbers[4], 10)
    log.trim(0, numbers[-1] + 1)
    assert payloads(log, numbers[-1]) == []
    assert log.ends(0) == (None, None)
    (number,) = fill(log, 1)
    assert [record.number for record in log.read(0, numbers[-1], 10).records] == [number]
    with pytest.raises(PositionTrimmed):
        log.read(0, numbers[-2], 10)


@pytest.mark.parametrize("left", [0, 3])
def test_unread_entries_that_maxlen_ate_are_a_gap(log: Log, app: str, client: redis.Redis, left: int):
    numbers = fill(log, 5)
    for number in range(5, 20):
        client.xadd(f"__strm:{app}.orders.0", {"payload": number}, maxlen=3, approximate=False)
    client.xtrim(f"__strm:{app}.orders.0", maxlen=left, approximate=False)
    with pytest.raises(PositionTrimmed):
        log.read(0, numbers[-1], 10)
    assert payloads(log, log.start(0)) == [b"17", b"18", b"19"][3 - left :]


def test_maxlen_that_ate_exactly_what_was_read_is_no_gap(log: Log, app: str, client: redis.Redis):
    numbers = fill(log, 5)
    fill(log, 3, first=5)
    client.xtrim(f"__strm:{app}.orders.0", maxlen=3, approximate=False)
    assert payloads(log, numbers[-1]) == [b"5", b"6", b"7"]


def test_a_stream_that_was_deleted_and_made_again_is_told(log: Log, app: str, client: redis.Redis):
    numbers = fill(log, 5)
    client.delete(f"__strm:{app}.orders.0")
    with pytest.raises(PositionTrimmed, match="deleted and made again"):
        log.read(0, numbers[0], 10)
    fill(log, 2)
    for number in (numbers[-1], numbers[2]):
        with pytest.raises(PositionTrimmed, match="deleted and made again"):
            log.read(0, number, 10)
    assert payloads(log, log.start(0)) == [b"0", b"1"]


def test_a_reader_goes_on_behind_an_entry_that_was_deleted(log: Log, app: str, client: redis.Redis):
    numbers = fill(log, 5)
    ids = [written for written, _ in client.xrange(f"__strm:{app}.orders.0")]
    client.xdel(f"__strm:{app}.orders.0", ids[2])
    assert payloads(log, numbers[2]) == [b"3", b"4"]
    assert payloads(log, numbers[1]) == [b"3", b"4"]


def test_a_stream_over_it_tells_the_gap_and_goes_on(log: Log, app: str, client: redis.Redis):
    fill(log, 4)
    with Stream(log, lateness=0.0) as stream:
        assert next(stream.follow()).payload == b"0"
        token = stream.token
    client.xtrim(f"__strm:{app}.orders.0", maxlen=1, approximate=False)
    with Stream(
        open_log(f"redis://127.0.0.1:{client.connection_pool.connection_kwargs['port']}/orders?app={app}"), token
    ) as stream:
        with pytest.raises(RecordsExpired):
            next(stream.follow())
        stream.skip()
        assert next(stream.follow()).payload == b"3"


# -- by time


def test_a_time_is_found_by_the_ids(log: Log, app: str, client: redis.Redis):
    key = f"__strm:{app}.orders.0"
    for ms in (1000, 1000, 2000, 3000, 3000, 3000, 5000):
        client.xadd(key, {"payload": ms}, id=f"{ms}-*")
    everything = log.read(0, 0, 100).records
    for ms in (0, 999, 1000, 1001, 2000, 2500, 3000, 4000, 5000, 5001):
        after = log.seek(0, ms * 1000)
        expected = [record for record in everything if (record.created_us or 0) >= ms * 1000]
        assert [r.sequence_number for r in log.read(0, after, 100).records] == [r.sequence_number for r in expected]
    assert payloads(log, log.seek(0, 2_000_001)) == payloads(log, log.seek(0, 3_000_000))
    client.xtrim(key, maxlen=3, approximate=False)
    assert payloads(log, log.seek(0, 3_000_000)) == [b"3000", b"3000", b"5000"]


def test_a_seek_counts_what_follows(log: Log, app: str, client: redis.Redis, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("streamiter.log.redis._COUNTED", 7)
    key = f"__strm:{app}.orders.0"
    for ms in range(1, 60):
        client.xadd(key, {"payload": ms}, id=f"{ms}-1")
    client.xtrim(key, maxlen=50, approximate=False)
    (record,) = log.read(0, log.seek(0, 30_000), 1).records
    assert record.sequence_number.endswith(f"{30:011}0")


# -- bounds


def test_a_full_partition_refuses_until_its_groups_have_read(port: int, app: str, client: redis.Redis):
    (log,) = made(port, app, "&partition_size=10")
    log = open_log(f"redis://127.0.0.1:{port}/orders?app={app}&partition_size=10")
    key = f"__strm:{app}.orders.0"
    numbers = fill(log, 10)
    with pytest.raises(Throttled, match="no group of readers is known"):
        fill(log, 1)
    ids = [written for written, _ in client.xrange(key)]
    client.xgroup_create(key, "slow", id=ids[3])
    client.xgroup_create(key, "fast", id=ids[8])
    with pytest.raises(Throttled, match="stands at"):
        fill(log, 8)
    assert client.xlen(key) == 7  # what all have read is gone, but for the last
    fill(log, 3, first=10)
    assert payloads(log, numbers[3]) == [b"%d" % n for n in range(4, 13)]
    log.close()


def test_a_full_partition_may_let_the_oldest_go(port: int, app: str, client: redis.Redis):
    log = open_log(f"redis://127.0.0.1:{port}/orders?app={app}&partition_size=100&when_full=trim")
    log.grow(1)
    numbers = fill(log, 1000)
    assert 100 <= client.xlen(f"__strm:{app}.orders.0") < 300
    with pytest.raises(PositionTrimmed):
        log.read(0, numbers[0], 10)
    assert payloads(log, numbers[-2]) == [b"999"]
    log.close()


# -- servers


def test_a_server_that_forgot_its_scripts_is_told_them_again(log: Log, client: redis.Redis):
    fill(log, 1)
    client.script_flush()
    fill(log, 1, first=1)
    assert payloads(log, 0) == [b"0", b"1"]


# -- groups of readers


def test_a_groups_place_shows_its_lag(log: Log, app: str, client: redis.Redis):
    key = f"__strm:{app}.orders.0"
    numbers = fill(log, 10)
    log.publish("bill", {"0": numbers[3], "1": 0})
    (group,) = client.xinfo_groups(key)
    assert (group["name"], group["entries-read"], group["lag"]) == (b"bill", 4, 6)
    fill(log, 5)
    log.publish("bill", {"0": numbers[8]})
    (group,) = client.xinfo_groups(key)
    assert (group["entries-read"], group["lag"], client.xlen(key)) == (9, 6, 15)


def test_what_all_groups_have_read_may_go(port: int, app: str, client: redis.Redis):
    log = open_log(f"redis://127.0.0.1:{port}/orders?app={app}&trim=read")
    log.grow(1)
    key = f"__strm:{app}.orders.0"
    numbers = fill(log, 10)
    log.publish("slow", {"0": numbers[2]})
    log.publish("fast", {"0": numbers[8]})
    assert client.xlen(key) == 8
    log.publish("slow", {"0": numbers[6]})
    assert client.xlen(key) == 4
    assert payloads(log, numbers[6]) == [b"7", b"8", b"9"]
    log.close()


@pytest.mark.parametrize("order", ["shard", "total"])
def test_an_apps_checkpoints_are_published(port: int, app: str, client: redis.Redis, order: Any):
    url = f"redis://127.0.0.1:{port}/orders?app={app}"
    log = open_log(url)
    log.grow(2)
    for partition in (0, 1):
        fill(log, 20, partition)
    shop = App(app, store=f"redis://127.0.0.1:{port}/0")
    seen: list[bytes] = []

    @shop.processor(url, order=order)
    async def bill(batch: Any) -> None:
        seen.extend(record.payload for record in batch)
        if len(seen) == 40:
            shop.stop()

    shop.run()
    for partition in (0, 1):
        (group,) = client.xinfo_groups(f"__strm:{app}.orders.{partition}")
        assert (group["name"], group["lag"]) == (b"bill", 0)
    log.close()
