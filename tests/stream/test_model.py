"""`model=`: images as the caller's own class, and the record that it cannot take."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec
import pydantic
import pytest

from streamiter import InvalidOption, PoisonRecord
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import drain, identities, take, until_raises


@dataclass
class DataUser:
    id: str
    age: int
    score: float = 0.0
    tags: set[str] = field(default_factory=set)


class StructUser(msgspec.Struct):
    id: str
    age: int
    score: float = 0.0
    tags: set[str] = set()


class PydanticUser(pydantic.BaseModel):
    id: str
    age: int
    score: float = 0.0
    tags: set[str] = set()


@dataclass
class PlainUser:
    id: str
    age: int
    score: float
    tags: set[str]


@dataclass
class Point:
    x: float
    y: float


@dataclass
class Line:
    id: str
    points: list[Point]
    weights: dict[str, float]


def make_user(image: dict[str, Any]) -> PlainUser:
    return PlainUser(image["id"], int(image["age"]), float(image.get("score", 0)), image.get("tags", set()))


MODELS = pytest.mark.parametrize("model", [DataUser, StructUser, PydanticUser, make_user], ids=lambda m: m.__name__)


@pytest.fixture
def users(sim: Simulator) -> Simulator:
    """Nine changes on two shards; the sixth is of a user without an age."""
    sim.shape("S1 ~ S2")
    for number in range(9):
        image: dict[str, Any] = {"id": f"u{number}", "age": 20 + number, "score": 1.5, "tags": {"x"}}
        if number == 5:
            del image["age"]
            image["password"] = "hunter2"
        sim.put("S1" if number % 2 else "S2", key=image["id"], new=image, old=image if number == 3 else None)
        sim.clock.advance(1)
    sim.clock.advance(10)
    return sim


@MODELS
def test_images_become_the_callers_class(users: Simulator, open_stream: Open, model):
    records = take(open_stream(model=model), users.clock, 5)
    kind = PlainUser if model is make_user else model
    for number, record in enumerate(records):
        assert isinstance(record.new, kind)
        assert record["new"] is record.new
        assert (record.new.id, record.new.age, record.new.score) == (f"u{number}", 20 + number, 1.5)
        assert type(record.new.score) is float
        assert record.new.tags == {"x"}
        assert record.old is None or (isinstance(record.old, kind) and number == 3)
        assert record.key == {"id": f"u{number}"}


@MODELS
def test_what_it_cannot_take_is_poison_until_skip(users: Simulator, open_stream: Open, model):
    poison = users.history[5]
    stream = open_stream(model=model)
    came = take(stream, users.clock, 5)
    for _ in range(3):
        before = stream.token
        _, error = until_raises(PoisonRecord, stream, users.clock)
        assert (error.shard_id, error.sequence_number) == (poison.shard_id, poison.sequence_number)
        assert stream.token == before
        assert stream.token["clock"] == 5
    stream.skip()
    came += drain(stream, users.clock)
    assert identities(came) == identities(record for record in users.history if record is not poison)
    assert stream.stats.poison == 1


@MODELS
def test_the_error_says_what_to_do_and_holds_no_values(users: Simulator, open_stream: Open, model):
    stream = open_stream(model=model)
    take(stream, users.clock, 5)
    _, error = until_raises(PoisonRecord, stream, users.clock)
    told = str(error)
    assert model.__name__ in told
    assert users.history[5].sequence_number in told
    assert "shard S1" in told
    assert "the token is still before it" in told
    assert "skip()" in told
    assert "hunter2" not in told + repr(error)
    assert error.__cause__ is not None


@MODELS
def test_batches_first_give_what_precedes_it(users: Simulator, open_stream: Open, model):
    stream = open_stream(model=model)
    batches = stream.batches(100, until="caught_up")
    first = next(batches)
    assert identities(first) == identities(users.history[:5])
    assert first.token["clock"] == 5
    with pytest.raises(PoisonRecord):
        next(batches)
    stream.skip()
    rest = [record for batch in stream.batches(100, until="caught_up") for record in batch]
    assert identities(rest) == identities(users.history[6:])


@MODELS
def test_to_arrow_moves_no_token_and_goes_past_it_after_skip(users: Simulator, open_stream: Open, model):
    stream = open_stream(model=model)
    take(stream, users.clock, 2)
    before = stream.token
    with pytest.raises(PoisonRecord):
        stream.to_arrow()
    assert stream.token == before
    stream.skip()
    assert stream.token == before
    table = stream.to_arrow()
    wanted = [record.sequence_number for record in users.history[2:] if record is not users.history[5]]
    assert table["sequence_number"].to_pylist() == wanted
    assert stream.stats.poison == 1


def test_a_better_model_takes_it_from_the_same_token(users: Simulator, open_stream: Open):
    stream = open_stream(model=DataUser)
    came = take(stream, users.clock, 5)
    _, _ = until_raises(PoisonRecord, stream, users.clock)
    mended = open_stream(stream.token, model=dict)
    assert identities(came + drain(mended, users.clock)) == identities(users.history)


def test_poison_on_several_shards_is_skipped_one_by_one(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    for number in range(10):
        image = {"id": str(number)} | ({} if number % 3 == 0 else {"age": number})
        sim.put("S1" if number % 2 else "S2", key=str(number), new=image)
        sim.clock.advance(1)
    stream = open_stream(model=DataUser)
    came = []
    for _ in range(4):
        before, _ = until_raises(PoisonRecord, stream, sim.clock)
        came += before
        stream.skip()
    came += drain(stream, sim.clock)
    assert identities(came) == [i for n, i in enumerate(identities(sim.history)) if n % 3]
    assert stream.stats.poison == 4


def test_whole_numbers_fit_int_and_nothing_is_rounded(sim: Simulator, open_stream: Open):
    @dataclass
    class Row:
        id: str
        big: int
        exact: Decimal
        deep: dict[str, list[int]]
        maybe: int | None = None

    sim.shape("S1")
    digits = "12345678901234567890123456789012345678"
    sim.put(
        "S1", new={"id": "x", "big": int(digits), "exact": Decimal("0." + digits), "deep": {"a": [1, 2]}, "maybe": None}
    )
    record = next(open_stream(model=Row))
    assert record.new == Row("x", int(digits), Decimal("0." + digits), {"a": [1, 2]}, None)


def test_floats_inside_are_floats(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    for _ in range(2):
        sim.put(
            "S1", new={"id": "x", "points": [{"x": 1, "y": 2.25}, {"x": 0.5, "y": 3}], "weights": {"a": 0.1, "b": 1}}
        )
    for record in take(open_stream(model=Line), sim.clock, 2):
        assert record.new == Line("x", [Point(1.0, 2.25), Point(0.5, 3.0)], {"a": 0.1, "b": 1.0})


def test_binary_is_bytes(sim: Simulator, open_stream: Open):
    @dataclass
    class Row:
        id: str
        photo: bytes

    sim.shape("S1")
    sim.put("S1", new={"id": "x", "photo": b"\x00\xfe"})
    assert next(open_stream(model=Row)).new == Row("x", b"\x00\xfe")


def test_whatever_a_callable_raises_is_poison(users: Simulator, open_stream: Open):
    class Odd(Exception):
        pass

    def refuse(image: dict[str, Any]) -> None:
        raise Odd(image)

    _, error = until_raises(PoisonRecord, open_stream(model=refuse), users.clock)
    assert isinstance(error.__cause__, Odd)
    assert "Odd" in str(error)


def test_ctrl_c_inside_a_model_is_no_poison(users: Simulator, open_stream: Open):
    pressed = []

    def press(image: dict[str, Any]) -> dict[str, Any]:
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        return image

    stream = open_stream(model=press)
    with pytest.raises(KeyboardInterrupt):
        drain(stream, users.clock)
    assert identities(drain(stream, users.clock)) == identities(users.history)


def test_a_model_sees_removed_and_inserted_images_only_where_they_are(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    sim.put("S1", new={"id": "a", "age": 1})
    sim.put("S1", event="REMOVE", old={"id": "a", "age": 1})
    inserted, removed = take(open_stream(model=DataUser), sim.clock, 2)
    assert (inserted.old, removed.new) == (None, None)
    assert inserted.new == removed.old == DataUser("a", 1)


@pytest.mark.parametrize("model", [1, "User", {"a": 1}, [int]], ids=repr)
def test_what_cannot_be_a_model_is_refused(open_stream: Open, model):
    with pytest.raises(InvalidOption, match="model= takes a class or a function"):
        open_stream(model=model)


def test_without_a_model_a_broken_image_harms_nobody_who_does_not_read_it(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    sim.put("S1", new={"id": {"X": "no such type"}}, typed=True)
    sim.put("S1", new={"id": {"S": "fine"}}, typed=True)
    broken, fine = take(open_stream(), sim.clock, 2)
    assert fine.new == {"id": "fine"}
    with pytest.raises(ValueError, match="does not have"):
        broken.new  # noqa: B018
