"""Knobs: what is misspelled is refused, with what there is, wherever it is written."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from click.testing import CliRunner

from streamiter.cli.catalogue import streamiter
from streamiter.cli.commands.simulate import knobs_of
from streamiter.testing import Knobs, Simulator, Weather
from streamiter.testing.trouble.knobs import KNOBS, UnknownKnob
from tests.testing.test_control import ask

TABLE: dict[str, Any] = {
    "TableName": "rolling",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
}


@pytest.fixture
def sim():
    with Simulator("S0") as simulator:
        yield simulator


@pytest.mark.parametrize(
    "name,meant", [("page_sise", "page_size"), ("rollafter", "roll_after"), ("PAGE_SIZE", "page_size"), ("crcs", "crc")]
)
def test_a_knob_that_there_is_not_is_refused_in_process(sim: Simulator, name: str, meant: str):
    for turn in (
        lambda: setattr(sim.knobs, name, 3),
        lambda: sim.knobs(**{name: 3}),
        lambda: sim.knobs.turn({name: 3}),
        lambda: Knobs(**{name: 3}),
    ):
        with pytest.raises(
            UnknownKnob, match=f"^there is no knob '{name}'; did you mean {meant}[?] there are: "
        ) as caught:
            turn()
        assert all(knob in str(caught.value) for knob in KNOBS)
        assert isinstance(caught.value, AttributeError) and isinstance(caught.value, ValueError)
    assert not hasattr(sim.knobs, name)


def test_several_are_turned_together_or_none(sim: Simulator):
    sim.knobs(page_size=3, roll_after=None, crc="absent")
    assert (sim.knobs.page_size, sim.knobs.roll_after, sim.knobs.crc) == (3, None, "absent")
    for wrong in ({"page_sise": 7}, {"crc": "wrnog"}, {"starting_shape": ""}):
        with pytest.raises(ValueError):
            sim.knobs(page_size=4, **wrong)
        assert sim.knobs.page_size == 3


def test_a_choice_that_there_is_not_is_refused(sim: Simulator):
    with pytest.raises(ValueError, match="the knob crc takes 'right' or 'wrong' or 'absent', not 'wrnog'"):
        sim.knobs.crc = "wrnog"


@pytest.mark.parametrize(
    "name,value",
    [
        *(("roll_after", value) for value in (-1, 1e-9, 0.5, 1e300, float("nan"), float("inf"))),
        *(("page_size", value) for value in (-5, 0, 1.5, 10**30, None)),
        *(("retention", value) for value in (-1, 0, float("nan"))),
        *((name, value) for name in ("skew", "enabling", "ttl_delay", "latency") for value in (1e300, -1e300, "long")),
        *((name, -1) for name in ("split_rate", "describe_rate", "records_rate", "bytes_rate", "shards_per_page")),
        ("shard_skews", {"S0": 1e300}),
        ("latency", {"GetRecords": -1}),
        ("iterator_lifetime", 0),
    ],
)
def test_a_number_out_of_its_range_is_refused(sim: Simulator, name: str, value: Any):
    before = getattr(sim.knobs, name)
    with pytest.raises(ValueError, match=f"^the knob {name} (goes from|takes) "):
        setattr(sim.knobs, name, value)
    assert getattr(sim.knobs, name) == before


@pytest.mark.parametrize("name", ["roll_after", "split_rate"])
def test_zero_means_never_where_that_makes_sense(sim: Simulator, name: str):
    setattr(sim.knobs, name, 0)
    assert getattr(sim.knobs, name) is None


def test_a_clock_that_leaps_ahead_of_many_rolls_keeps_the_service_answering(sim: Simulator):
    sim.knobs.roll_after = 1
    sim.create_table("still", stream=False)
    made = sim.client("dynamodb").create_table(**TABLE)["TableDescription"]
    sim.clock.advance(365 * 86400)
    for _ in range(2):
        assert sim.client().describe_stream(StreamArn=made["LatestStreamArn"])["StreamDescription"]["Shards"]


def test_knobs_can_be_copied(sim: Simulator):
    sim.knobs.page_size = 5
    assert copy.copy(sim.knobs).page_size == copy.deepcopy(sim.knobs).page_size == 5


def test_a_chance_a_fault_or_an_operation_that_there_is_not_is_refused(sim: Simulator):
    with pytest.raises(ValueError, match="there is no chance 'throtles'; did you mean throttles[?]"):
        Weather(1, **dict.fromkeys(["throtles"], 1.0))
    with pytest.raises(ValueError, match="cuts goes from 0 to 1, this is 7"):
        sim.misbehave(seed=1, cuts=7)
    with pytest.raises(ValueError, match="there is no fault 'throtle'; did you mean throttle[?]"):
        sim.fault(kind="throtle")
    for turn in (lambda: sim.fault("GetRecord", kind="500"), lambda: setattr(sim.knobs, "latency", {"GetRecord": 1})):
        with pytest.raises(ValueError, match="there is no operation 'GetRecord'; did you mean GetRecords[?]"):
            turn()
    sim.fault("TransactWriteItems", kind="500")
    assert sim.knobs.weather is None


def test_knobs_are_turned_over_the_endpoint(sim: Simulator):
    status, answer = ask(sim, "Turn", Knobs={"page_size": 10, "roll_after": None, "latency": {"GetRecords": 0.5}})
    assert status == 200 and answer["Knobs"]["page_size"] == 10 and answer["Knobs"].keys() == {*KNOBS} - {"weather"}
    assert (sim.knobs.page_size, sim.knobs.roll_after, sim.knobs.latency) == (10, None, {"GetRecords": 0.5})


@pytest.mark.parametrize(
    "operation,body,words",
    [
        ("Turn", {"Knobs": {"page_sise": 1}}, "did you mean page_size? there are: retention"),
        ("Turn", {"Knobs": {"page_size": "many"}}, "the knob page_size takes a whole number, not 'many'"),
        ("Turn", {"Knobs": {"roll_after": []}}, "the knob roll_after takes a number or null, not []"),
        ("Turn", {"Knobs": {"crc": "wrnog"}}, "takes 'right' or 'wrong' or 'absent'"),
        ("Turn", {"Knobs": {"weather": {}}}, "made by Misbehave"),
        (
            "Turn",
            {"Knobs": {"page_size": 5, "skew": 1e300}},
            "the knob skew goes from -316224000 to 316224000; this is 1e+300",
        ),
        ("Turn", {"Knobs": {"roll_after": 1e-9}}, "the knob roll_after goes from 1 to 316224000 (or 0: never)"),
        ("Misbehave", {"Chances": {"skew": 1e300}}, "skew goes from 0"),
        ("Fault", {"Kind": "slow", "Seconds": 1e300}, "seconds goes from 0 to 3600"),
        ("Fault", {"Kind": "slow", "Times": -1}, "times and after are 0 or more"),
        ("Turn", {"Knob": {}}, "there is no member 'Knob'; did you mean Knobs?"),
        ("Turnn", {}, "there is no call 'Turnn'; did you mean Turn?"),
        ("Misbehave", {"Chances": {"throtles": 1.0}}, "did you mean throttles? there are: throttles, errors"),
        ("Fault", {"Kind": "throtle"}, "did you mean throttle?"),
        ("Fault", {"Kind": "throttle", "Operation": "GetRecord"}, "did you mean GetRecords?"),
    ],
)
def test_what_is_misspelled_is_refused_over_the_endpoint(
    sim: Simulator, operation: str, body: dict[str, Any], words: str
):
    status, answer = ask(sim, operation, **body)
    assert status == 400 and words in answer["message"]
    assert sim.knobs == Knobs()


def test_knobs_are_turned_on_the_command_line():
    texts = (
        "page-size=3",
        "roll_after=null",
        'latency={"GetRecords": 0.5}',
        "crc=wrong",
        "starting_shape=S0 => {S1, S2}",
    )
    made = knobs_of("S0", 60.0, None, False, texts)
    assert (made.page_size, made.roll_after, made.latency, made.crc) == (3, None, {"GetRecords": 0.5}, "wrong")
    assert made.starting_shape == "S0 => {S1, S2}"


@pytest.mark.parametrize(
    "text,words",
    [
        ("page_sise=1", "there is no knob 'page_sise'; did you mean page_size?"),
        ("page_size", "a knob is set with NAME=VALUE, not with 'page_size'"),
        ("page_size=ten", "the knob page_size takes a whole number, not 'ten'"),
        ("page_size=-5", "the knob page_size goes from 1 to 10000; this is -5"),
        ("crc=wrnog", "the knob crc takes 'right' or 'wrong' or 'absent', not 'wrnog'"),
    ],
)
def test_what_is_misspelled_is_refused_on_the_command_line(text: str, words: str):
    done = CliRunner().invoke(streamiter, ["simulate", "--port", "0", "--knob", "page-bytes=9", "--knob", text])
    assert done.exit_code == 2 and words in done.stderr and done.stderr.count("\n") == 1
