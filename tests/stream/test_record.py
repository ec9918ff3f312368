"""A record's face: Bloop's shape, and attributes."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from decimal import Decimal

import arrow
import pytest

from streamiter.envelope import Change, Envelope
from streamiter.record import ChangeRecord
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import drain, take


@pytest.fixture
def record(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    sim.put(
        "S1",
        key={"id": "ann"},
        event="MODIFY",
        old={"id": "ann", "age": 41},
        new={
            "id": "ann",
            "age": 42,
            "tags": {"a", "b"},
            "photo": b"\x00\xff",
            "nothing": None,
            "deep": {"l": [1, {"x": True}]},
        },
    )
    return next(open_stream())


def test_images_come_in_bloops_shape_and_as_attributes(record):
    assert (
        record["new"]
        == record.new
        == {
            "id": "ann",
            "age": Decimal(42),
            "tags": {"a", "b"},
            "photo": b"\x00\xff",
            "nothing": None,
            "deep": {"l": [Decimal(1), {"x": True}]},
        }
    )
    assert record["old"] == record.old == {"id": "ann", "age": Decimal(41)}
    assert record["key"] == record.key == {"id": "ann"}
    assert type(record.new["age"]) is Decimal
    assert type(record.new["photo"]) is bytes
    assert type(record.new["tags"]) is set


def test_meta_is_bloops_and_all_else(record, sim: Simulator):
    written = sim.history[0]
    assert record["meta"] == {
        "created_at": arrow.get(written.created),
        "event": {"id": record.event_id, "type": "modify", "version": "1.1"},
        "sequence_number": written.sequence_number,
        "shard_id": "S1",
        "user_identity": None,
        "size_bytes": record.size_bytes,
        "order_key": record.order_key,
        "clock": 1,
        "late": False,
    }
    assert isinstance(record["meta"]["created_at"], arrow.Arrow)
    assert isinstance(record["meta"]["created_at"].humanize(), str)


def test_attributes_say_the_same(record, sim: Simulator):
    written = sim.history[0]
    assert record.shard_id == "S1"
    assert record.sequence_number == written.sequence_number
    assert record.created_at == datetime.fromtimestamp(written.created or 0, UTC)
    assert record.event_name == "MODIFY"
    assert re.fullmatch("[0-9a-f]{32}", record.event_id)
    assert record.event_version == "1.1"
    assert record.size_bytes > 0
    assert record.user_identity is None
    assert record.clock == 1
    assert record.late is False
    assert isinstance(record.order_key, str)


def test_a_record_becomes_a_dict_as_bloops_users_print_it(record):
    shown = dict(record)
    assert set(shown) == {"key", "new", "old", "meta"}
    assert '"type": "modify"' in json.dumps(shown, indent=4, default=repr)


def test_other_names_are_key_errors(record):
    with pytest.raises(KeyError):
        record["image"]


def test_a_record_is_true_as_poll_loops_ask(record):
    assert record


def test_its_repr_holds_neither_images_nor_keys(record):
    assert "ann" not in repr(record)
    assert "42" not in repr(record).replace(record.sequence_number, "")


def test_an_insert_has_no_old_and_a_removal_no_new_image(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    sim.put("S1", key="a")
    sim.put("S1", key="a", event="REMOVE", old={"id": "a"})
    inserted, removed = take(open_stream(), sim.clock, 2)
    assert (inserted.old, inserted.new, inserted.event_name) == (None, {"id": "a"}, "INSERT")
    assert (removed.old, removed.new, removed.event_name) == ({"id": "a"}, None, "REMOVE")


@pytest.mark.parametrize(
    "view, old, new",
    [
        ("KEYS_ONLY", None, None),
        ("NEW_IMAGE", None, {"id": "a", "n": 2}),
        ("OLD_IMAGE", {"id": "a", "n": 1}, None),
        ("NEW_AND_OLD_IMAGES", {"id": "a", "n": 1}, {"id": "a", "n": 2}),
    ],
)
def test_what_the_view_type_leaves_out_is_none(sim: Simulator, open_stream: Open, view, old, new):
    table = sim.create_table("other", "S1", view=view)
    table.put("S1", key="a", event="MODIFY", old={"id": "a", "n": 1}, new={"id": "a", "n": 2})
    record = next(open_stream(table=table))
    assert (record.key, record.old, record.new) == ({"id": "a"}, old, new)


def test_a_delete_by_time_to_live_tells_who_it_was(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    sim.put("S1", event="REMOVE", user_identity=True)
    record = next(open_stream())
    assert record.user_identity == {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}


def test_a_creation_time_is_optional(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    sim.put("S1", created=None)
    record = next(open_stream())
    assert record.created_at is None
    assert record["meta"]["created_at"] is None


def test_order_keys_sort_as_records_come_out(sim: Simulator, open_stream: Open):
    sim.shape("S9 ~ S10")
    for number in (7, 10**30, 3, 4, 5, 10**39):
        sim.put("S9", number=number)
        sim.put("S10")
    sim.shape("S9 => S1")
    sim.put("S1")
    keys = [record.order_key for record in drain(open_stream(), sim.clock)]
    assert keys == sorted(set(keys))
    assert len(keys) == 13


def test_records_of_a_page_created_at_one_moment_hold_one_number_for_it():
    moments = [1_768_478_400.0, 1_768_478_400.0, None, 1_768_478_401.25]
    page = [Envelope(Change(str(number), moment)) for number, moment in enumerate(moments)]
    records = ChangeRecord.all_of("S1", page)
    assert [record.created_us for record in records] == [moment and round(moment * 1e6) for moment in moments]
    assert records[0].created_us is records[1].created_us
    assert [(record.shard_id, record.sequence_number) for record in records] == [("S1", str(n)) for n in range(4)]
