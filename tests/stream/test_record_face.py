"""What a record shows: to dir() and print(), as a dict, as JSON, and as a copy in another process."""

from __future__ import annotations

import ast
import copy
import inspect
import json
import pickle
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest

import streamiter
from streamiter import (
    ChangeRecord,
    DynamoDBStreams,
    KinesisChange,
    KinesisRecord,
    KinesisStreams,
    LogRecord,
    Record,
    Stream,
)
from streamiter.record import INSIDE
from streamiter.testing import Simulator
from tests.indoors import IndoorSimulator

DOCS = Path(__file__).parent.parent.parent / "docs"
BASE = {"shard_id", "sequence_number", "created_at", "order_key", "clock", "late", "to_dict", "to_json"}
CHANGE = BASE | {"event_name", "event_id", "event_version", "key", "new", "old", "user_identity", "size_bytes", "keys"}
SHOWN: dict[type[Record], set[str]] = {
    Record: BASE,
    ChangeRecord: CHANGE,
    KinesisRecord: BASE | {"partition_key", "payload", "sub_sequence_number", "explicit_hash_key", "keys"},
    LogRecord: BASE | {"key", "payload", "headers", "keys", "is_tombstone"},
    KinesisChange: CHANGE | {"table_name", "partition_key", "arrived_at"},
}
EXACT = "12345678901234567890123456789012345678"
ROW = {
    "id": "ann",
    "n": Decimal(EXACT),
    "price": Decimal("4.90"),
    "tags": {"b", "a"},
    "sizes": {Decimal(2), Decimal(1)},
}
IMAGE = {**ROW, "raw": b"\x00\xff", "deep": {"list": [Decimal("1E+30"), None, True]}}


@pytest.fixture
def sim():
    with IndoorSimulator("S1") as simulator:
        simulator.put("S1", key="ann", event="MODIFY", new=IMAGE, old={"id": "ann"})
        yield simulator


def first(sim: Simulator, **options: Any) -> ChangeRecord[Any]:
    with Stream(DynamoDBStreams("users", client=sim.client()), clock=sim.clock, **options) as stream:
        return next(stream.follow())


# -- what there is


@pytest.mark.parametrize("kind", SHOWN)
def test_dir_shows_what_users_need(kind: type[Record]):
    shown = {name for name in dir(kind("S1", "17", 1)) if not name.startswith("_")}
    assert shown == SHOWN[kind]


@pytest.mark.parametrize("kind", SHOWN)
def test_each_of_them_is_documented(kind: type[Record]):
    """As the reference takes it: a docstring in the method, or right under the field."""
    told: set[str] = set()
    for base in kind.__mro__:
        if not issubclass(base, Record):
            continue
        (body,) = (node.body for node in ast.parse(inspect.getsource(base)).body if isinstance(node, ast.ClassDef))
        told |= {node.name for node in body if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)}
        for field, text in pairwise(body):
            is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
                told.add(field.target.id)
    assert SHOWN[kind] <= told


def test_the_reference_leaves_out_the_same_as_dir():
    page = (DOCS / "reference/records.md").read_text("utf-8")
    blocks = [block for block in page.split("::: ")[1:] if "Record" in block or "Change" in block]
    assert len(blocks) == len(SHOWN)
    for block in blocks:
        assert set(re.findall(r'"!\^(\w+)\$"', block)) == INSIDE


def test_a_version_is_told():
    from importlib.metadata import version

    assert streamiter.__version__ == version("streamiter")


# -- print


def test_print_tells_the_event_the_key_and_the_time(sim: Simulator):
    record = first(sim)
    when = datetime.fromtimestamp(sim.history[0].created or 0, UTC)
    assert str(record) == f"MODIFY id='ann' at {when:%Y-%m-%d %H:%M:%S} UTC"
    assert "ann" not in repr(record)
    assert "ann" not in str([record])


def test_print_escapes_what_would_move_the_cursor():
    with IndoorSimulator("S1") as sim:
        sim.put("S1", key="\x1b[2J")
        assert "\x1b" not in str(first(sim))


def test_print_of_records_of_other_kinds():
    assert str(Record("S1", "17", None)) == "Record 17 of S1 at an unknown time"
    record = KinesisRecord("S1", "17", 1_750_000_000_000_000, partition_key="ann", raw_payload=b"hello")
    assert str(record) == "5 bytes under 'ann' at 2025-06-15 15:06:40 UTC"


# -- as a dict, as JSON


def test_a_dict_has_all_of_it(sim: Simulator):
    record = first(sim)
    told = record.to_dict()
    assert set(told) == {name for name in SHOWN[ChangeRecord] if not name.startswith("to_")} - {"keys"}
    assert told["new"] == IMAGE
    assert (told["key"], told["event_name"], told["clock"]) == ({"id": "ann"}, "MODIFY", 1)
    assert told["created_at"] == datetime.fromtimestamp(sim.history[0].created or 0, UTC)
    assert type(told["created_at"]) is datetime
    whole = dict(record)
    flat = {**whole, **whole.pop("meta")}
    event = flat.pop("event")
    flat.pop("meta")
    assert {**flat, **{f"event_{name}": value for name, value in event.items() if name != "type"}} == {
        name: value for name, value in told.items() if name != "event_name"
    }


def test_json_has_all_digits(sim: Simulator):
    text = first(sim).to_json()
    told = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    assert told["new"] == {
        "id": "ann",
        "n": Decimal(EXACT),
        "price": Decimal("4.90"),
        "tags": ["a", "b"],
        "sizes": [1, 2],
        "raw": "AP8=",
        "deep": {"list": [Decimal("1E+30"), None, True]},
    }
    assert f'"n":{EXACT}' in text
    assert '"price":4.90' in text
    assert told["created_at"].endswith(("Z", "+00:00"))
    assert text == first(sim).to_json()


@dataclass
class DataRow:
    id: str


class StructRow(msgspec.Struct):
    id: str


class PydanticRow(pydantic.BaseModel):
    id: str


class PlainRow:
    def __init__(self, image: dict[str, Any]) -> None:
        self.id = image["id"]


@pytest.mark.parametrize("model", [DataRow, StructRow, PydanticRow, PlainRow])
def test_json_of_what_a_model_made(sim: Simulator, model: Any):
    record = first(sim, model=model)
    assert isinstance(record.to_dict()["new"], model)
    assert json.loads(record.to_json())["new"] == {"id": "ann"}


def test_json_of_kinesis_records():
    with IndoorSimulator(table=None) as sim:
        sim.create_stream("orders", "S0").put("S0", b"\x00\xff", key="ann")
        with Stream(KinesisStreams("orders", client=sim.client("kinesis")), clock=sim.clock) as stream:
            record = next(stream.follow())
    told = json.loads(record.to_json())
    assert (told["payload"], told["partition_key"], told["sub_sequence_number"]) == ("AP8=", "ann", 0)
    assert dict(record)["meta"]["shard_id"] == record.shard_id


class Reading(Record):
    """A record of one's own."""

    celsius: float = 0.0


def test_a_record_of_ones_own_has_its_own_fields():
    record = Reading("S1", "17", None, celsius=21.5)
    assert record.to_dict() == {
        "celsius": 21.5, "created_at": None, "shard_id": "S1", "sequence_number": "17", "order_key": None,
        "clock": 0, "late": False,
    }  # fmt: skip
    assert json.loads(record.to_json())["celsius"] == 21.5
    assert "celsius" in dir(record)


# -- copies


@pytest.mark.parametrize("copied", [lambda r: pickle.loads(pickle.dumps(r)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize("is_read", [True, False])
@pytest.mark.parametrize("options", [{}, {"model": StructRow}])
def test_a_copy_is_equal(sim: Simulator, copied: Any, is_read: bool, options: dict[str, Any]):
    record = first(sim, **options)
    _ = record.new if is_read else None
    twin = copied(record)
    assert twin == record
    assert twin.to_dict() == record.to_dict()
    assert hash(twin) == hash(record)
    assert {record, twin} == {record}
    assert twin == first(sim, **options), "and to the same one, read again"


def test_others_are_not_equal(sim: Simulator):
    sim.put("S1", key="ann", event="MODIFY", new=IMAGE, old={"id": "ann"})
    with Stream(DynamoDBStreams("users", client=sim.client()), clock=sim.clock) as stream:
        one, other = list(stream.follow(until="caught_up"))
    assert one != other
    assert one != one.to_dict()
    assert Record("S1", "17", 1) != ChangeRecord("S1", "17", 1)
    assert Record("S1", "17", 1) == Record("S1", "17", 1, clock=5, late=True)
    assert KinesisRecord("S1", "17", 1, sub_sequence_number=1) != KinesisRecord("S1", "17", 1)
