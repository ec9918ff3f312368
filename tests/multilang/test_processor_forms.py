"""The forms of a processor: what each is given, and in whose words; amazon_kclpy's three versions among them."""

from __future__ import annotations

from typing import Any

import pytest

from streamiter.errors import CheckpointFailed, InvalidOption, UnreadableRecord
from streamiter.multilang import Batch, ChildLease, Record, wire
from streamiter.multilang.processor.forms import hooks_of
from streamiter.multilang.trying.script import SHARD, scenarios
from tests.multilang.daemon import START, AnsweringPipe, Seen, batch, judged, number, talk

ENDED, LOST, LEAVE = wire.ShardEnded(), wire.LeaseLost(), wire.ShutdownRequested()


# -- what it is given


def test_an_object_hears_of_each_action():
    seen = Seen()
    talk(seen, AnsweringPipe(wire.Initialize(SHARD, "77", 3), batch(1, 2, payload=b"p"), LEAVE, LOST))
    assert seen.told == [(SHARD, "77"), [b"p", b"p"], "asked to leave", "lost"]


def test_a_record_tells_what_came():
    got: list[Any] = []
    record = wire.WireRecord(bytes(range(256)), "a\u2028b", number(1), 2, 1_795_077_443_237)
    talk(got.extend, AnsweringPipe(START, wire.ProcessRecords([record], 1500)))
    assert got[0].payload == bytes(range(256))
    assert (got[0].partition_key, got[0].sequence_number, got[0].sub_sequence_number) == ("a\u2028b", number(1), 2)
    assert got[0].created_at.isoformat() == "2026-11-19T08:37:23.237000+00:00"
    assert repr(got[0]) == f"<Record {number(1)}.2>"


def test_what_is_null_is_none():
    got: list[Any] = []
    line = b'{"action":"processRecords","records":[{"data":null,"partitionKey":null,"sequenceNumber":null,'
    line += (
        b'"approximateArrivalTimestamp":null,"subSequenceNumber":null,"action":"record"}],"millisBehindLatest":null}\n'
    )
    pipe = AnsweringPipe(wire.Initialize(SHARD, None, None), line)
    talk(got.append, pipe)
    (record,) = got[0]
    assert (record.payload, record.partition_key, record.created_at, record.sub_sequence_number) == (b"", None, None, 0)
    assert got[0].millis_behind_latest is None
    assert pipe.places == []  # it has no place


def test_a_payload_that_is_no_base64_says_so_when_it_is_read():
    record = Record({"data": "%%%", "sequenceNumber": "7"})
    with pytest.raises(UnreadableRecord, match="<Record 7>"):
        _ = Record({"data": "abc", "sequenceNumber": "7"}).payload
    assert repr(record) == "<Record 7>"


def test_a_function_may_take_one_record_at_a_time():
    got = []

    def process(record: Record) -> None:
        got.append(record.sequence_number)

    talk(process, AnsweringPipe(START, batch(1, 2), batch(3)))
    assert got == [number(place) for place in (1, 2, 3)]


def test_coroutines_run_on_one_loop():
    import asyncio

    loops = set()

    class Async:
        async def initialize(self, lease: ChildLease) -> None:
            loops.add(asyncio.get_running_loop())

        async def process(self, batch: Batch) -> None:
            await asyncio.sleep(0)
            loops.add(asyncio.get_running_loop())

    pipe = AnsweringPipe(START, batch(1), ENDED)
    talk(Async, pipe)
    assert len(loops) == 1
    assert pipe.statuses == ["initialize", "processRecords", "shardEnded"]


def test_what_is_no_processor_is_refused_with_the_forms():
    class NoProcess:
        def initialize(self, lease: ChildLease) -> None: ...

    class Needs:
        def __init__(self, name: str) -> None: ...

    class Odd:
        def process(self, batch: Batch, more: int) -> None: ...

    for wrong in (7, "text", NoProcess, Needs, Odd, lambda: None, lambda a, b: None):
        with pytest.raises(InvalidOption, match="a processor is one of"):
            hooks_of(wrong)


# -- amazon_kclpy's three versions


class Version3(Seen):
    def initialize(self, given: Any) -> None:
        self.told.append((given.shard_id, given.sequence_number, given.sub_sequence_number))

    def process_records(self, given: Any) -> None:
        self.told.append([record.binary_data for record in given.records])
        given.checkpointer.checkpoint(given.records[-1].sequence_number, given.records[-1].sub_sequence_number)

    def lease_lost(self, given: Any) -> None:  # type: ignore[override]
        self.told.append("lost")

    def shard_ended(self, given: Any) -> None:  # type: ignore[override]
        given.checkpointer.checkpoint()

    def shutdown_requested(self, given: Any) -> None:  # type: ignore[override]
        given.checkpointer.checkpoint()


class Version2:
    def __init__(self) -> None:
        self.told: list[Any] = []

    initialize = Version3.initialize
    process_records = Version3.process_records
    shutdown_requested = Version3.shutdown_requested

    def shutdown(self, given: Any) -> None:
        self.told.append(given.reason)
        if given.reason == "TERMINATE":
            given.checkpointer.checkpoint()


class Version1:
    def __init__(self) -> None:
        self.told: list[Any] = []

    def initialize(self, shard_id: str) -> None:
        self.told.append(shard_id)

    def process_records(self, records: Any, checkpointer: Any) -> None:
        self.told.append([record.get("data") for record in records])
        checkpointer.checkpoint(records[-1].get("sequenceNumber"))

    def shutdown(self, checkpointer: Any, reason: str) -> None:
        self.told.append(reason)
        if reason == "TERMINATE":
            checkpointer.checkpoint()


@pytest.mark.parametrize("kind", [Version3, Version2, Version1])
def test_processors_for_amazon_kclpy_run_as_they_are(kind):
    for script in scenarios():
        if not script.is_rare and not script.is_lost:
            assert judged(kind, script).findings == []
    ended, lost = kind(), kind()
    pipe = AnsweringPipe(START, batch(1, payload=b"p"), ENDED)
    talk(ended, pipe)
    assert pipe.places == [(number(1), None if kind is Version1 else 0), (None, None)]
    talk(lost, AnsweringPipe(START, batch(1, payload=b"p"), LOST))
    assert lost.told[1] == (["cA=="] if kind is Version1 else [b"p"])
    assert lost.told[2] == ("lost" if kind is Version3 else "ZOMBIE")


def test_they_keep_places_themselves():
    class Lazy(Version3):
        def process_records(self, given: Any) -> None: ...

    pipe = AnsweringPipe(START, batch(1), LOST)
    talk(Lazy, pipe)
    assert pipe.places == []
    pipe = AnsweringPipe(START, batch(1), LOST)
    talk(Lazy, pipe, checkpoint="batch")
    assert pipe.places == [(number(1), 0)]


def test_amazon_kclpys_names_are_there(monkeypatch):
    from streamiter.multilang import kclpy

    ran: list[Any] = []
    monkeypatch.setattr(kclpy, "run", ran.append)

    class Mine(Version3, kclpy.RecordProcessorBase):
        pass

    mine = Mine()
    kclpy.KCLProcess(mine).run()
    assert ran == [mine]
    assert kclpy.CheckpointError is CheckpointFailed
