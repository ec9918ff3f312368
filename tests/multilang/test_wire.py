"""The wire: lines as they were recorded, both ways, and whatever else comes through a pipe."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.multilang.wire import (
    Answer,
    Ask,
    Form,
    Initialize,
    LeaseLost,
    Lines,
    ProcessRecords,
    ShardEnded,
    Shutdown,
    ShutdownRequested,
    Status,
    ToChild,
    ToDaemon,
    WireRecord,
    from_child,
    from_daemon,
    to_child,
    to_daemon,
)

TEXT = st.text(st.characters(exclude_categories=("Cs",)))
NUMBERS = st.none() | TEXT
RECORDS = st.builds(WireRecord, st.binary(), NUMBERS, NUMBERS, st.integers(0, 9), st.none() | st.integers(0, 1 << 50))
TO_CHILD = st.one_of(
    st.builds(Initialize, TEXT, NUMBERS, st.none() | st.integers(0, 9)),
    st.builds(ProcessRecords, st.lists(RECORDS), st.none() | st.integers(0, 1 << 50)),
    st.builds(Answer, NUMBERS, st.none() | st.integers(-9, 9), NUMBERS),
    st.builds(Shutdown, TEXT),
    *(st.just(plain()) for plain in (ShutdownRequested, LeaseLost, ShardEnded)),
)

RECORDED = [
    (
        '{"action":"initialize","shardId":"shardId-000000000000","sequenceNumber":"TRIM_HORIZON","subSequenceNumber":0}',
        Initialize("shardId-000000000000"),
    ),
    (
        '{"action":"processRecords","records":[{"data":"MDAwMDAxIG9mIDEyMA==","partitionKey":"key-1",'
        '"sequenceNumber":"49680362341682385674651797956282503902016020824197169154",'
        '"approximateArrivalTimestamp":1795077443237,"subSequenceNumber":0,"action":"record"}],"millisBehindLatest":0}',
        ProcessRecords(
            [
                WireRecord(
                    b"000001 of 120",
                    "key-1",
                    "49680362341682385674651797956282503902016020824197169154",
                    0,
                    1795077443237,
                )
            ],
            0,
        ),
    ),
    (
        '{"action":"checkpoint","sequenceNumber":"4968","subSequenceNumber":0,"error":null}',
        Answer("4968", 0),
    ),
    (
        '{"action":"checkpoint","sequenceNumber":null,"subSequenceNumber":null,"error":"ShutdownException"}',
        Answer(None, None, "ShutdownException"),
    ),
    ('{"action":"shutdownRequested"}', ShutdownRequested()),
    ('{"action":"leaseLost"}', LeaseLost()),
    ('{"action":"shardEnded"}', ShardEnded()),
]


@pytest.mark.parametrize("line, message", RECORDED)
def test_the_daemon_writes_what_was_recorded_byte_for_byte(line: str, message: ToChild):
    assert to_child(message) == line.encode() + b"\n"
    told = from_daemon(line.encode())
    assert told is not None and told.message == message


@given(TO_CHILD)
def test_what_the_daemon_writes_a_child_reads(message: ToChild):
    line = to_child(message)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    told = from_daemon(line)
    assert told is not None and told.message == message


@given(TO_CHILD, TEXT)
def test_a_shared_child_is_told_the_shard(message: ToChild, shard: str):
    told = from_daemon(to_child(message, shard=shard))
    assert told is not None and told.message == message
    assert told.shard == (message.shard_id if isinstance(message, Initialize) else shard)


def test_what_is_not_ascii_stands_raw():
    line = to_child(ProcessRecords([WireRecord(b"", "schl\u00fcssel\u2028\u0085\U0001f600", "1")]))
    assert "schl\u00fcssel\u2028\u0085\U0001f600".encode() in line
    assert line.split(b"\n")[1:] == [b""]


def test_half_of_a_surrogate_pair_is_escaped():
    line = to_child(ProcessRecords([WireRecord(b"", "a\ud83d", "1")]))
    assert json.loads(line)["records"][0]["partitionKey"] == "a\ud83d"


CHILDREN = [
    (b'{"action": "status", "responseFor": "initialize"}', Status("initialize")),
    (b'{"action": "status", "responseFor": "initialize", "more": {"of": 1}}', Status("initialize")),
    (b'{"action": "status", "responseFor": null}', Status(None)),
    (b'{"action": "status"}', Status(None)),
    (b'{"action": "checkpoint"}', Ask()),
    (b'{"action": "checkpoint", "sequenceNumber": null, "subSequenceNumber": null}', Ask(form=Form.NEWER)),
    (b'{"action": "checkpoint", "sequenceNumber": "7", "subSequenceNumber": 1}', Ask("7", 1, Form.NEWER)),
    (b'{"action": "checkpoint", "sequenceNumber": 7, "subSequenceNumber": "1"}', Ask("7", 1, Form.NEWER)),
    (b'{"action": "checkpoint", "sequenceNumber": "7"} and more', Ask("7", None, Form.NEWER)),
    (b'{"action": "checkpoint", "sequenceNumber": true, "subSequenceNumber": 1.5}', Ask("true", "1.5", Form.NEWER)),
    (b'{"action": "checkpoint", "checkpoint": "7"}', Ask("7", None, Form.OLDER)),
    (b'{"action": "checkpoint", "checkpoint": null}', Ask(None, None, Form.OLDER)),
    (b'\xef\xbb\xbf \t{"action": "status", "responseFor": "initialize"}\r', Status("initialize")),
    (b"\r", None),
    (b"", None),
    (b"a line of a debugger", None),
    (b'text before {"action": "status", "responseFor": "initialize"}', None),
    (b"null", None),
    (b"[1]", None),
    (b"{}", None),
    (b"\xff\xfe", None),
    (b'{"action": "status"', None),
    (b'{"action": "initialize"}', None),
    (b'{"action": {"status": 1}}', None),
    (b"[" * 100_000, None),
    (b'{"action": "checkpoint", "sequenceNumber": ' + b"9" * 5_000 + b"}", None),
]


@pytest.mark.parametrize("line, message", CHILDREN)
def test_what_a_child_says(line: bytes, message: ToDaemon | None):
    assert from_child(line) == message


@given(st.binary())
def test_no_line_of_a_child_breaks_the_daemon(line: bytes):
    from_child(line)


@given(st.builds(Status, NUMBERS) | st.builds(Ask, NUMBERS, st.none() | st.integers(-9, 9), st.just(Form.NEWER)))
def test_what_a_child_writes_the_daemon_reads(message: ToDaemon):
    before, line, after = to_daemon(message).split(b"\n")
    assert (before, from_child(line), after) == (b"", message, b"")


def test_the_older_form():
    assert to_child(LeaseLost(), Form.OLDER) == b'{"action":"shutdown","reason":"ZOMBIE"}\n'
    assert to_child(ShardEnded(), Form.OLDER) == b'{"action":"shutdown","reason":"TERMINATE"}\n'
    assert to_child(Answer("7", 0), Form.OLDER) == b'{"action":"checkpoint","checkpoint":"7","error":null}\n'
    assert from_daemon(b'{"action":"checkpoint","checkpoint":"7","error":null}') == (Answer("7"), None)
    assert to_daemon(Ask("7", 1), Form.OLDER) == b'\n{"action": "checkpoint", "checkpoint": "7"}\n'


@given(st.lists(st.binary(max_size=8)), st.integers(1, 9))
def test_lines_are_cut_at_newlines_alone_however_they_come(parts: list[bytes], limit: int):
    lines = Lines(limit)
    found = [line for part in parts for line in lines.feed(part)]
    *whole, rest = b"".join(parts).split(b"\n")
    assert found == [line for line in whole if len(line) <= limit]
    assert lines.too_long == len([line for line in [*whole, rest] if len(line) > limit])
    assert lines.rest() == (rest if len(rest) <= limit else b"")


def test_the_wire_loads_nothing_heavy():
    code = "import sys, streamiter.multilang.wire; print(*(n for n in ('boto3', 'msgspec', 'asyncio') if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
