"""The pytest plugin: a fixture for everybody, at no cost for those who do not use it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest


def test_the_fixture_is_there(simulator):
    simulator.shape("S0")
    simulator.put("S0", key="a")
    assert simulator.client().list_streams()["Streams"]


@pytest.mark.simulator("S0 => {S1, S2}", view="KEYS_ONLY", ids="service")
def test_a_mark_says_how_it_begins(simulator):
    assert simulator.open_shards == ["S1", "S2"]
    arn = simulator.stream_arn
    assert simulator.client().describe_stream(StreamArn=arn)["StreamDescription"]["StreamViewType"] == "KEYS_ONLY"


def test_pytest_finds_it_by_itself():
    [found] = [point for point in entry_points(group="pytest11") if point.name == "streamiter"]
    assert found.value == "pytest_streamiter"


def test_loading_it_loads_nothing_of_ours():
    code = "import sys, pytest_streamiter; print([name for name in sys.modules if name in ('streamiter', 'boto3', 'moto')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_simulator_needs_no_extra():
    code = """
import sys
sys.modules["moto"] = None  # as if it were not installed
from streamiter.testing import Simulator
with Simulator("S0") as sim:
    sim.put("S0")
    print(sim.client("dynamodb").describe_table(TableName="users")["Table"]["TableStatus"])
    sim.client("dynamodb").put_item(TableName="users", Item={"id": {"S": "a"}})
    print(sim.client("dynamodb").scan(TableName="users")["Count"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "ACTIVE\n1\n"
