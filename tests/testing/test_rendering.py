"""Rendering: a page's records are the JSON that the service writes, however many are made at once."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.testing import Simulator
from streamiter.testing.http.http1 import send_whole
from streamiter.testing.truth.records import PackedImages, SpelledOut, WrittenRecord, written_record
from streamiter.testing.truth.rendering import FIRST_NUMBER, rendered
from streamiter.testing.truth.simulated_table import SimulatedTable

VIEWS = ("NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY")
IDENTITIES: tuple[dict[str, str] | None, ...] = (None, {"Type": "Service", "PrincipalId": "100%d of %b"})


def told(record: WrittenRecord, view: str, region: str) -> dict[str, Any]:
    """A record as the service's documents have it, but for the event's id."""
    change: dict[str, Any] = {"Keys": json.loads(record.key_json)}
    if record.created_us is not None:
        change["ApproximateCreationDateTime"] = record.created_us / 1e6
    if record.new_json is not None and view.startswith("NEW"):
        change["NewImage"] = json.loads(record.new_json)
    if record.old_json is not None and "OLD" in view:
        change["OldImage"] = json.loads(record.old_json)
    change |= {"SequenceNumber": record.sequence_number, "SizeBytes": record.size, "StreamViewType": view}
    row = {"awsRegion": region, "dynamodb": change, "eventName": record.event_name, "eventSource": "aws:dynamodb"}
    row["eventVersion"] = "1.1"
    return row | ({"userIdentity": record.user_identity} if record.user_identity else {})


@pytest.mark.parametrize("view", VIEWS)
def test_records_are_told_as_the_service_tells_them(view: Any):
    table = SimulatedTable("users", "arn:aws:dynamodb:eu-west-1:000000000000:table/users", [], 0, 7)
    images = (b'{"id":{"S":"100%d"}}', None)
    records = []
    kinds = product(("INSERT", "MODIFY", "REMOVE"), IDENTITIES, images, images, (None, 1_750_000_000_000_000))
    for number, (event, identity, new, old, created_us) in enumerate(kinds):
        origin = table.origin("S0", event, view, identity)  # type: ignore[arg-type]
        packed = PackedImages(b'{"id":{"S":"%s"}}', new, old)
        spelled = SpelledOut(number, None) if number % 5 == 0 else None
        records.append(written_record(origin, FIRST_NUMBER + 3 * number, created_us, 0, packed, number, spelled))
    rows = [json.loads(body) for body in rendered(records)]
    ids = [row.pop("eventID") for row in rows]
    assert rows == [told(record, view, "eu-west-1") for record in records]
    assert len(set(ids)) == len(ids)
    assert {len(event_id) for event_id in ids} == {32}
    assert all(event_id.startswith("00000007") for event_id in ids)
    assert [record.body for record in records] == rendered(records)


def test_a_number_that_a_test_chose_keeps_its_digits():
    with Simulator("S0") as sim:
        first, second = (json.loads(sim.put("S0", key="a", number=5).body) for _ in range(2))
    assert first["dynamodb"]["SequenceNumber"] == second["dynamodb"]["SequenceNumber"] == "1" + "5".zfill(20)
    assert first["eventID"] != second["eventID"]


def test_a_long_page_is_whole_and_a_heavy_one_is_cut():
    with Simulator("S0") as sim:
        written = [sim.put("S0", key=f"k{number}").sequence_number for number in range(700)]
        client = sim.client()
        place = {"StreamArn": sim.stream_arn, "ShardId": "S0", "ShardIteratorType": "TRIM_HORIZON"}
        iterator = client.get_shard_iterator(**place)["ShardIterator"]
        page = client.get_records(ShardIterator=iterator)["Records"]
        assert [record["dynamodb"]["SequenceNumber"] for record in page] == written
        shard = sim.table("users")._truth.latest.shard("S0")
        some = sum(len(body) for body in shard.take_bodies(0, 1000, 1 << 20)[:300])
        assert len(shard.take_bodies(0, 1000, some)) == 300
        assert len(shard.take_bodies(0, 1000, some - 1)) == 299
        assert len(shard.take_bodies(0, 1000, 1)) == 1


class Slow:
    """A connection that takes so many bytes at first."""

    def __init__(self, takes: int) -> None:
        self._takes = takes
        self.sent = b""

    def sendmsg(self, parts: tuple[bytes, bytes]) -> int:
        self.sent = b"".join(parts)[: self._takes]
        return len(self.sent)

    def sendall(self, part: bytes) -> None:
        self.sent += part


@given(st.integers(1, 40_020), st.sampled_from([0, 10, 40_000]))
def test_all_of_an_answer_is_sent_wherever_the_first_part_ends(takes: int, size: int):
    head, body = b"HTTP/1.1 200 OK\r\n\r\n", bytes(range(250)) * (size // 250)
    connection = Slow(takes)
    send_whole(connection, head, body)  # type: ignore[arg-type]
    assert connection.sent == head + body
