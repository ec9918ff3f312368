"""The SQLite log: what stands in its file, what it says on bad days, and how threads and processes share it."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from streamiter import Stream
from streamiter.errors import (
    AccessDenied,
    InvalidOption,
    InvalidStore,
    InvalidStream,
    InvalidToken,
    PositionTrimmed,
    Throttled,
)
from streamiter.log import Ends, Entry, SqliteLog, open_log
from streamiter.log.gathering import Gathering, Job
from streamiter.store import Table
from streamiter.store.sqlite import SqliteStore
from streamiter.testing import ManualClock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs.db"


def made(path: Path, topic: str = "orders", partitions: int = 2, **options) -> SqliteLog:
    log = SqliteLog(path, topic, **options)
    log.grow(partitions)
    return log


def texts(log: SqliteLog, partition: int = 0) -> list[bytes]:
    return [record.payload for record in log.read(partition, log.start(partition), 1000).records]


# -- the file


def test_one_file_holds_several_topics(path):
    orders, bills = made(path), made(path, "bills", 3)
    orders.append(0, [Entry(b"order")])
    bills.append(0, [Entry(b"bill")])
    assert (texts(orders), texts(bills)) == ([b"order"], [b"bill"])
    assert (orders.partitions(), bills.partitions()) == (2, 3)
    assert orders.name != bills.name


def test_stamps_rise_over_the_whole_file(path):
    orders, bills = made(path), made(path, "bills")
    for _ in range(5):
        orders.append(0, [Entry(b"")] * 3)
        bills.append(1, [Entry(b"")] * 2)
    looks = (*orders.read(0, 0, 100).records, *bills.read(1, 0, 100).records)
    stamps = [record.created_us for record in looks]
    assert len(set(stamps)) == 25


def test_a_clock_that_is_set_back_takes_no_stamp_back(path):
    clock = ManualClock()
    log = made(path, clock=clock)
    log.append(0, [Entry(b"a")])
    with closing(made(path, clock=ManualClock(clock.now() - 3600))) as other:
        other.append(0, [Entry(b"b")])
    first, second = log.read(0, 0, 10).records
    assert first.created_us is not None and second.created_us == first.created_us + 1


def test_a_person_can_read_it(path):
    log = made(path)
    log.append(0, [Entry(b"payload", b"key")])
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT name, partitions FROM streamiter_log_topics").fetchall() == [("orders", 2)]
        assert db.execute("SELECT number, payload, key FROM streamiter_log_1_0").fetchall() == [(1, b"payload", b"key")]
        assert db.execute("PRAGMA journal_mode").fetchall() == [("wal",)]


def test_large_entries_come_in_smaller_pages(path):
    log = made(path)
    log.append(0, [Entry(bytes(100_000))] * 1000)
    records, is_tip, _ = log.read(0, 0, 1000)
    assert len(records) < 400 and not is_tip
    with Stream(log) as stream:
        assert sum(1 for _ in stream.follow(until="caught_up")) == 1000


def test_trimming_much_goes_in_parts(path, monkeypatch):
    monkeypatch.setattr("streamiter.log.sqlite.TRIMMED_AT_ONCE", 7)
    log = made(path)
    log.append(0, [Entry(b"%d" % number) for number in range(50)])
    log.trim(0, 40)
    assert log.ends(0) == Ends(40, 50)
    with pytest.raises(PositionTrimmed):
        log.read(0, 38, 10)


# -- threads


def test_threads_share_a_transaction():
    written: list[list[int]] = []
    begun, go = threading.Event(), threading.Event()

    def write(jobs: list[Job]) -> None:
        begun.set()
        go.wait(30)
        written.append([job.partition for job in jobs])
        for job in jobs:
            job.numbers = [job.partition]

    gathering = Gathering(write)
    found: dict[int, list[int]] = {}

    def run(number: int) -> None:
        found[number] = gathering.append(number, [Entry(b"")])

    first = threading.Thread(target=run, args=(0,))
    first.start()
    begun.wait(30)
    others = [threading.Thread(target=run, args=(number,)) for number in range(1, 6)]
    for thread in others:
        thread.start()
    while len(gathering._waiting) < 5:
        pass
    go.set()
    for thread in (first, *others):
        thread.join(30)
    assert found == {number: [number] for number in range(6)}
    assert written[0] == [0] and sorted(written[1]) == [1, 2, 3, 4, 5] and len(written) == 2


def test_one_threads_mistake_is_no_others(path):
    log = made(path)
    job, wrong = Job(0, [Entry(b"a")]), Job(9, [Entry(b"b")])
    log._write([wrong, job])
    assert job.error is None and job.numbers == [1] and "no partition 9" in str(wrong.error)


def test_an_interrupted_writer_leaves_no_other_waiting():
    def write(_: list[Job]) -> None:
        raise KeyboardInterrupt

    gathering = Gathering(write)
    with pytest.raises(KeyboardInterrupt):
        gathering.append(0, [Entry(b"")])
    assert not gathering._waiting and not gathering._turn.locked()


def test_a_forked_process_opens_the_file_anew(path):
    log = made(path)
    log.append(0, [Entry(b"parent")])
    child = os.fork()
    if not child:
        try:
            log._gathering._turn.acquire()  # as if another thread of the parent had had it
            log._gathering._process = os.getppid()
            log.append(0, [Entry(b"child")])
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    log.append(0, [Entry(b"parent again")])
    assert texts(log) == [b"parent", b"child", b"parent again"]


# -- bad days


@pytest.mark.parametrize("entry", [Entry("text"), Entry(b"", "key")])  # type: ignore[arg-type]
def test_what_is_no_bytes_is_refused_before_anything_is_written(path, entry):
    log = made(path)
    with pytest.raises(InvalidOption, match="bytes"):
        log.append(0, [Entry(b"a"), entry])
    assert texts(log) == []


def test_reading_makes_no_file(path):
    log = SqliteLog(path, "orders")
    for call in (lambda: log.name, log.partitions, lambda: log.append(0, [Entry(b"")]), lambda: Stream(log)):
        with pytest.raises(InvalidStream, match="no such file"):
            call()
    assert not path.exists()


def test_a_topic_that_is_not_there_is_told_with_those_that_are(path):
    made(path)
    with pytest.raises(InvalidStream, match="'orders'"):
        SqliteLog(path, "odrers").partitions()


def test_a_file_of_another_kind_stays_as_it_is(path):
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(InvalidStream, match="not a database"):
        SqliteLog(path, "orders").partitions()
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE mine (a)")
    with pytest.raises(InvalidStream, match="no log's file"):
        SqliteLog(path, "orders").partitions()
    with closing(sqlite3.connect(path)) as db:
        assert [row[0] for row in db.execute("SELECT name FROM sqlite_master")] == ["mine"]


def test_a_damaged_file_is_told(path):
    with SqliteLog(path, "orders") as log:
        log.grow(1)
        log.append(0, [Entry(b"x" * 1000)] * 100)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(InvalidStream, match="is damaged"):
        SqliteLog(path, "orders").read(0, 0, 10)


def test_a_table_that_another_program_took_away_is_told_at_once(path):
    with SqliteLog(path, "orders") as log:
        log.grow(1)
        with closing(sqlite3.connect(path)) as db:
            db.execute("DROP TABLE streamiter_log_1_0")
        for call in (lambda: log.read(0, 0, 10), lambda: log.append(0, [Entry(b"")])):
            with pytest.raises(InvalidStream, match="another program changed the file"):
                call()


def test_a_folder_is_no_file(path):
    with pytest.raises(InvalidStream, match="is a folder"):
        SqliteLog(path.parent, "orders").partitions()


def test_a_newer_layout_is_left_alone(path):
    made(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO streamiter_log_schema VALUES (99)")
        db.commit()
    with pytest.raises(InvalidStream, match="newer streamiter"):
        SqliteLog(path, "orders").partitions()


def test_leases_and_logs_are_kept_apart(path, tmp_path):
    made(path).close()
    with pytest.raises(InvalidStore, match="log's file"), SqliteStore(path) as store:
        store.scan(Table("leases", "shop"))
    with SqliteStore(tmp_path / "shop.db") as store:
        store.scan(Table("leases", "shop"))
    with pytest.raises(InvalidStream, match="store's file"):
        made(tmp_path / "shop.db")


def test_a_full_disk_is_told_and_nothing_is_written(path):
    log = made(path)
    log.append(0, [Entry(b"a")])

    def fill(db: sqlite3.Connection) -> None:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + 2}")

    log._file.call(fill)
    with pytest.raises(Throttled, match="disk is full"):
        log.append(0, [Entry(bytes(100_000)), Entry(b"b")])
    assert texts(log) == [b"a"]
    assert log.append(0, [Entry(b"c")]) == [2]


def test_a_file_that_was_taken_away_takes_no_entries(path):
    log = made(path)
    log.append(0, [Entry(b"a")])
    for name in path.parent.iterdir():
        name.unlink()
    with pytest.raises(InvalidStream, match="no such file"):
        log.append(0, [Entry(b"b")])
    with pytest.raises(InvalidStream, match="no such file"):
        log.read(0, 0, 10)


def test_a_topic_that_was_made_anew_is_told(path):
    log = made(path)
    log.append(0, [Entry(b"a")])
    with Stream(log) as stream:
        list(stream.follow(until="caught_up"))
        token = stream.token
    name = log.name
    for file in path.parent.iterdir():
        file.unlink()
    anew = made(path)
    assert anew.name != name
    with pytest.raises(InvalidStream, match="made anew"):
        log.read(0, 1, 10)
    with pytest.raises(InvalidToken, match="made again"):
        Stream(anew, token)


def test_a_file_that_must_not_be_written_is_told(path):
    log = made(path)
    log._file.call(lambda db: db.execute("PRAGMA query_only = ON"))
    with pytest.raises(AccessDenied, match="needs to write"):
        log.append(0, [Entry(b"")])


# -- URLs


def test_a_url_names_file_and_topic(path):
    made(path, "my orders").append(0, [Entry(b"a")])
    log = open_log(f"sqlite:///{path}?topic=my%20orders")
    assert isinstance(log, SqliteLog) and texts(log) == [b"a"]


@pytest.mark.parametrize(
    "url, told",
    [
        ("sqlite:///orders.db", "names no topic"),
        ("sqlite:///orders.db?topic=", "empty"),
        ("sqlite:///orders.db?topic=a&topic=b", "given twice"),
        ("sqlite:///orders.db?topic=a&sync=off", "no option 'sync'"),
        ("sqlite:///orders.db?topic", "name=value"),
        ("sqlite://host/orders.db?topic=a", "three slashes|four slashes"),
        ("sqlite:orders.db?topic=a", "is written"),
        ("sqlite:///?topic=a", "is written"),
        ("env:NO_SUCH_VARIABLE", "not set"),
        ("etcd://orders", "sqlite:///FILE"),
    ],
)
def test_a_url_that_is_wrong_is_told(url, told):
    with pytest.raises(InvalidStream, match=told):
        open_log(url)


def test_other_options_are_refused(path):
    with pytest.raises(InvalidOption, match="region"):
        open_log(f"sqlite:///{path}?topic=a", region="eu-west-1")
