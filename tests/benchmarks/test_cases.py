"""Every benchmark runs, at a smoke size: that the sides read the same records is checked in each of them."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
from contextlib import ExitStack, nullcontext
from typing import Any

import pytest

from benchmarks import __main__ as bench
from benchmarks import environment, measure
from benchmarks.__main__ import ASKED_FOR, CASES, main
from benchmarks.canned.process import ROOT, Canned
from benchmarks.measure import Comparison, Reading, Scale, check_same
from benchmarks.readers import by_spark
from benchmarks.results import Report, Result, Row, load
from benchmarks.sides import READERS, Outcome, Side, side

WITHOUT_BLOOP = {
    "images",
    "on_loop",
    "to_arrow",
    "memory",
    "lanes",
    "growth",
    "server",
    "emulators",
    "kinesis_reshard",
    "leases",
    "logs",
    "multilang",
    "redis_log",
}
BESIDE_ASYNC_KINESIS = {"kinesis", "app"}
SPARK = {"spark", "spark_latency"}
# At a smoke size they share a session, and each task is done once: JVMs and their workers take seconds to start.
ONE_SESSION = {name: "spark" for name in READERS if name.startswith("spark")}
SMOKE = Scale(1, is_smoke=True)


@pytest.fixture(scope="session")
def bloop():
    try:
        environment.bloop_python()
    except subprocess.CalledProcessError:
        pytest.skip("Bloop could not be installed: is there a network?")


class Once(Side):
    """A side that gives the outcome of a task that it did before, instead of doing it again."""

    def __init__(self, side: Side) -> None:
        self.name, self.versions = side.name, side.versions
        self._side = side
        self._done: dict[str, Outcome] = {}

    def do(self, action: str, canned: Canned, shards: int, records: int = 0, **options: Any) -> Outcome:
        task = json.dumps([action, canned.endpoint_url, shards, records, options], sort_keys=True)
        if task not in self._done:
            self._done[task] = self._side.do(action, canned, shards, records, **options)
        return self._done[task]


@pytest.fixture(scope="session")
def sides_kept():
    with ExitStack() as stack:
        started: dict[str, Side] = {}

        def lend(name: str):
            name = ONE_SESSION.get(name, name)
            if name not in started:
                found = stack.enter_context(side(name))
                started[name] = Once(found) if name in ONE_SESSION else found
            return nullcontext(started[name])

        yield lend


@pytest.fixture(autouse=True)
def _lent_sides(sides_kept, monkeypatch):
    """Sides that live on from test to test: starting them is most of what a smoke size takes."""
    monkeypatch.setattr(measure, "side", sides_kept)


def check_smoke(case: str) -> Result:
    result: Result = bench.module_of(case).run(SMOKE)
    assert result.measured
    assert all(ratio > 0 for row in result.rows for ratio in row.ratios)
    ours = ("server", "emulators", "leases", "logs", "multilang", "redis_log", "kafka_log", "topic_peers")
    assert "streamiter" in result.versions or case in ours
    return result


@pytest.mark.parametrize("case", sorted(WITHOUT_BLOOP))
def test_case(case):
    check_smoke(case)


@pytest.mark.real
def test_case_beside_a_broker():
    if shutil.which("mvn") is None or shutil.which("java") is None:
        pytest.skip("there is no Maven, or no Java")
    check_smoke("kafka_log")


@pytest.mark.real
def test_case_beside_runnel_and_faststream():
    try:
        environment.faststream_python()
        environment.runnel_python()
    except subprocess.CalledProcessError:
        pytest.skip("the peers on Redis could not be installed: is there a network?")
    assert "FastStream" in check_smoke("topic_peers").versions


@pytest.mark.parametrize("case", sorted(BESIDE_ASYNC_KINESIS))
def test_case_beside_async_kinesis(case):
    try:
        environment.async_kinesis_python()
        environment.native_kcl_python()
    except subprocess.CalledProcessError:
        pytest.skip("the peers on Kinesis could not be installed: is there a network?")
    assert "async-kinesis" in check_smoke(case).versions


def test_a_reshard_under_load_loses_and_repeats_nothing():
    told = check_smoke("kinesis_reshard")
    assert told.measured["wrong"] == 0
    assert [row.median for row in told.rows] == [1, 1]


@pytest.mark.parametrize("case", sorted(CASES.keys() - WITHOUT_BLOOP - SPARK - BESIDE_ASYNC_KINESIS - ASKED_FOR))
def test_case_beside_bloop(case, bloop):
    assert "bloop" in check_smoke(case).versions


@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", sorted(SPARK))
def test_case_of_spark(case):
    check_smoke(case)


@pytest.mark.parametrize("name, master", [("spark, 1 core", "local[1]"), ("spark, 8 slots", "local[8]")])
def test_a_side_of_spark_has_as_many_slots_as_it_says(name, master, monkeypatch):
    masters = []
    monkeypatch.setattr(by_spark, "main", masters.append)
    runpy.run_module(READERS[name], run_name="__main__")
    assert masters == [master]


def test_an_idle_stream_asks_each_shard_once_a_second(bloop):
    told = check_smoke("idle").measured
    assert told["settled"]["GetRecords"] <= told["shards"] * told["seconds"] * 1.5


def test_sides_that_read_different_records_are_found_out():
    class Liar:
        def __init__(self, name, value):
            self.name, self.value = name, value

        def do(self, *_arguments, **_options):
            return Outcome(self.value, 0.0, 0.0)

    def reading(name: str, action: str, value: list) -> Reading:
        liar: Any = Liar(name, value)
        server: Any = None
        return Reading(liar, action, server, 1, 5, {})

    with pytest.raises(AssertionError, match="not read the same"):
        check_same([reading("one", "check", [5, "a"]), reading("other", "check", [5, "b"])], images=False)
    with pytest.raises(AssertionError, match="read 4 of 5"):
        reading("short", "envelopes", [4]).do()


def test_a_ratio_is_of_neighbours_in_time():
    halves = (Outcome([1], 1.0, 0.5), Outcome([1], 3.0, 0.5))
    row = Comparison([halves], [Outcome([1], 20.0, 5.0)]).row("work", "peer", 12)
    assert (row.ratios, row.by_cpu, row.is_met) == ([10.0], [10.0], False)


def result_of(case: str) -> Result:
    return Result([Row(case, "its peer", [2.0, 3.0, 2.5], 2.0, by_cpu=[2.4, 2.5, 2.6])], {"calls": 7})


@pytest.fixture
def tried(monkeypatch):
    class Module:
        TITLE = "a case"

        @staticmethod
        def run(scale):
            return result_of("work")

    monkeypatch.setattr(bench, "module_of", lambda _: Module)


def test_the_command_prints_a_table_writes_json_and_draws(tried, tmp_path, capsys):
    assert main(["memory", "idle", "--runs", "3", "--results", str(tmp_path)]) == 0
    table = capsys.readouterr().out
    assert "≥ 2.0x" in table
    assert "2.5x" in table
    assert "2.0x – 3.0x" in table
    assert "measured on" in table
    assert sorted(path.name for path in tmp_path.iterdir()) == ["idle.json", "memory.json", "performance.png"]
    told = json.loads((tmp_path / "idle.json").read_text())
    assert told["runs"] == 3
    assert told["machine"]["cores"] >= 1
    assert told["result"]["rows"][0] | {"median": 2.5, "is_met": True} == told["result"]["rows"][0]
    assert (tmp_path / "performance.png").read_bytes().startswith(b"\x89PNG")


def test_results_are_read_back_as_they_were_written(tmp_path):
    report = Report("idle", "title", "2026-01-15T12:00:00+00:00", 5, False, {"cores": 2}, result_of("idle"))
    report.save(tmp_path)
    assert load(tmp_path, ["idle", "never_run"]) == {"idle": report}


def test_an_unknown_name_is_told(capsys):
    with pytest.raises(SystemExit):
        main(["idel"])
    assert "there is no benchmark 'idel'" in capsys.readouterr().err


def test_a_smoke_run_leaves_the_kept_results_alone(tried, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "PLACE", tmp_path / "kept")
    main(["idle", "--smoke"])
    assert not (tmp_path / "kept").exists()


def test_a_tree_beside_a_commit_of_it(capsys):
    if not (ROOT / ".git").exists():
        pytest.skip("a checkout without git has no commits")
    assert main(["--beside", "HEAD", "idle", "--smoke"]) == 0
    assert "1.00  calls of 5 idle shards" in capsys.readouterr().out
