"""The same random writes, reads and mistakes at the simulator and at ministack: every difference is known and explained."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.testing.differential.compare import compare
from tests.testing.differential.compare_kinesis import KINESIS_KNOWN, compare_kinesis
from tests.testing.differential.compare_tables import TABLES_KNOWN, compare_tables
from tests.testing.differential.known import KNOWN
from tests.testing.differential.services import ministack, simulator

pytestmark = pytest.mark.xdist_group("ministack")  # it starts once for all
ROOT = Path(__file__).parents[2]
COUNT = int(os.environ.get("STREAMITER_DIFFERENTIAL_COUNT", "30"))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    with ministack(tmp_path_factory.mktemp("ministack")) as service:
        yield service


@pytest.fixture
def found_by(theirs, capsys):
    """Runs a comparison, shows what it found, and gives that; no difference may be unexplained."""
    seed = int(os.environ.get("STREAMITER_DIFFERENTIAL_SEED", "1"))

    def found_by(compare, count):
        with simulator() as ours:
            found = compare(ours, theirs, seed=seed, count=count)
        with capsys.disabled():
            print(f"\n{found}")
        assert not found.unexplained
        return found

    return found_by


def test_the_simulator_and_ministack(found_by):
    assert found_by(compare, COUNT).compared > 300


def test_tables_of_the_simulator_and_of_ministack(found_by):
    assert found_by(compare_tables, 10 * COUNT).compared > 10 * COUNT


def test_kinesis_of_the_simulator_and_of_ministack(found_by):
    found = found_by(compare_kinesis, COUNT)
    assert found.compared > 130 and set(found.explained) == {known.title for known in KINESIS_KNOWN}


def test_every_known_difference_is_documented():
    page = " ".join((ROOT / "docs" / "simulator.md").read_text("utf-8").split())
    for known in KNOWN + TABLES_KNOWN + KINESIS_KNOWN:
        assert known.title in page, known.title
