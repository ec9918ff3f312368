"""The daemon as a process of its own: the KCL's properties and table, signals, and what a kill leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import environment
from tests.multilang.rig import CHILD, Rig
from tests.multilang.test_children import is_gone
from tests.stream.helpers import soon

ROOT = Path(__file__).parent.parent.parent
pytestmark = [pytest.mark.realtime, pytest.mark.timeout(180)]

PROPERTIES = """
executableName = {python} {child} {notes} {what}
applicationName = shop-app
streamName = clicks
initialPositionInStream = TRIM_HORIZON
regionName = us-east-1
failoverTimeMillis = 2000
shutdownGraceMillis = 10000
AwsCredentialsProvider = DefaultCredentialsProvider
metricsLevel = NONE
"""


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path, "S1 ~ S2")
    yield made
    made.close()


@contextmanager
def daemon(rig: Rig, folder: Path, *words: object) -> Iterator[subprocess.Popen[bytes]]:
    kept = {"AWS_ENDPOINT_URL": rig.sim.endpoint_url, "PYTHONPATH": str(ROOT)}
    with open(folder / "log.txt", "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamiter", "multilang", *map(str, words)],
            cwd=folder,
            env=environment(**kept),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def properties(rig: Rig, folder: Path, what: str = "") -> Path:
    file = folder / "app.properties"
    file.write_text(PROPERTIES.format(python=sys.executable, child=CHILD, notes=rig.notes, what=what))
    return file


def rows(rig: Rig) -> dict[str, dict[str, Any]]:
    """The KCL's own rows."""
    items = rig.sim.client("dynamodb").scan(TableName="shop-app", ConsistentRead=True)["Items"]
    return {item["leaseKey"]["S"]: item for item in items}


def numbers(rig: Rig) -> set[str]:
    """The last record of each shard."""
    return {record.sequence_number for record in rig.stream.history[-2:]}


def test_properties_and_the_kcls_own_table(rig: Rig, tmp_path: Path):
    texts = rig.put("S1", 1) + rig.put("S2", 1)
    with daemon(rig, tmp_path, "--properties", properties(rig, tmp_path)) as process:
        rig.wait_for(texts)
        soon(lambda: {row["checkpoint"]["S"] for row in rows(rig).values()} == numbers(rig))
        assert all(row["leaseOwner"]["S"] for row in rows(rig).values())
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert [rig.actions(shard)[-3:] for shard in ("S1", "S2")] == [["shutdownRequested", "leaseLost", "end"]] * 2
    assert not any("leaseOwner" in row for row in rows(rig).values())
    log = (tmp_path / "log.txt").read_text()
    assert "metricsLevel is ignored: no metrics are sent to CloudWatch" in log


def test_rows_of_shards_that_begin_at_the_latest_say_so_as_javas_do(rig: Rig, tmp_path: Path):
    now = rig.sim.clock.now()
    rig.sim.clock.set(now - 60)  # the latest begins a second or two before the start
    rig.put("S1", 1)
    rig.sim.clock.set(now)
    file = properties(rig, tmp_path)
    file.write_text(file.read_text().replace("TRIM_HORIZON", "LATEST"))
    with daemon(rig, tmp_path, "--properties", file) as process:
        soon(lambda: len(rig.pids()) == 2)
        assert {row["checkpoint"]["S"] for row in rows(rig).values()} == {"LATEST"}
        process.kill()
        process.wait()
    texts = rig.put("S1", 1)
    with daemon(rig, tmp_path, "--properties", file):
        rig.wait_for(texts)
    assert set(rig.given()) <= {"record 1"}, "from the first start on, and nothing before it"


def test_a_row_that_java_left_is_gone_on_with(rig: Rig, tmp_path: Path):
    """As 3.1.3 leaves it: its owner stands there still, and its counter stands still."""
    rig.put("S1", 3)
    rig.sim.client("dynamodb").create_table(
        TableName="shop-app",
        KeySchema=[{"AttributeName": "leaseKey", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "leaseKey", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    for shard, place in (("S1", rig.stream.history[1].sequence_number), ("S2", "TRIM_HORIZON")):
        rig.sim.client("dynamodb").put_item(
            TableName="shop-app",
            Item={
                "leaseKey": {"S": rig.stream.shard_id(shard)},
                "leaseOwner": {"S": "java-worker"},
                "leaseCounter": {"N": "17"},
                "ownerSwitchesSinceCheckpoint": {"N": "0"},
                "checkpoint": {"S": place},
                "checkpointSubSequenceNumber": {"N": "0"},
                "throughputKBps": {"N": "1.5"},
            },
        )
    with daemon(rig, tmp_path, "--properties", properties(rig, tmp_path)) as process:
        rig.wait_for(["record 2"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert rig.given() == ["record 2"], "what lies before the checkpoint does not come"
    assert rows(rig)[rig.stream.shard_id("S1")]["throughputKBps"] == {"N": "1.5"}


def test_the_child_of_a_merge_begins_when_both_its_parents_are_through(rig: Rig, tmp_path: Path):
    """One parent was there from the start, the other came from a split. One parent's child takes its time over the end."""
    texts = {"S1": rig.put("S1", 3), "S2": rig.put("S2", 2)}
    rig.stream.split("S1", "S3", "S4")
    texts |= {"S3": rig.put("S3", 2), "S4": rig.put("S4", 3)}
    rig.stream.merge("S4", "S2", "S5")
    texts["S5"] = rig.put("S5", 2)
    file = properties(rig, tmp_path, f"waits:shardEnded:{rig.stream.shard_id('S2')} 99")
    with daemon(rig, tmp_path, "--properties", file) as process:
        soon(lambda: "shardEnded" in rig.actions("S2") and "end" in rig.actions("S4"))
        rig.wait_for(rig.put("S3", 1))  # the daemon goes on meanwhile
        texts["S3"].append("record 12")
        assert not rig.pids("S5")
        (rig.notes / "go").touch()
        rig.wait_for(texts["S5"])
        last = rig.stream.history[-2].sequence_number  # but for the record that S3 got meanwhile
        soon(lambda: rows(rig)[rig.stream.shard_id("S5")]["checkpoint"]["S"] == last)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert {shard: rig.given(shard) for shard in texts} == texts, "each shard once, in its order"
    for parent, child in (("S1", "S3"), ("S1", "S4"), ("S2", "S5"), ("S4", "S5")):
        assert rig.moments(parent, "answer")[-1] < rig.moments(child, "initialize")[0], f"{parent} => {child}"
    ended = {rows(rig)[rig.stream.shard_id(shard)]["checkpoint"]["S"] for shard in ("S1", "S2", "S4")}
    assert ended == {"SHARD_END"}


@pytest.mark.parametrize("what", ["", "stays"])
def test_kill_9_of_the_daemon_leaves_no_child_and_loses_nothing(rig: Rig, tmp_path: Path, what: str):
    file = properties(rig, tmp_path, f"{what} 9" if what else "")
    with daemon(rig, tmp_path, "--properties", file) as process:
        rig.wait_for(rig.put("S1", 1) + rig.put("S2", 1))
        process.kill()
        process.wait()
        soon(lambda: all(is_gone(pid) for pid in rig.pids()), 20)
    texts = rig.put("S1", 1) + rig.put("S2", 1)
    with daemon(rig, tmp_path, "--properties", file):
        rig.wait_for(texts)
    assert set(rig.given()) == {f"record {number}" for number in range(4)}


def test_a_guard_that_is_killed_is_started_again_and_knows_the_children_that_live(rig: Rig, tmp_path: Path):
    file = properties(rig, tmp_path, "stays 9")
    with daemon(rig, tmp_path, "--properties", file) as process:
        rig.wait_for(rig.put("S1", 1) + rig.put("S2", 1))
        for _ in range(2):
            guards = guards_of(process.pid)
            assert len(guards) == 1
            os.kill(guards[0], signal.SIGKILL)
            soon(lambda: bool(guards_of(process.pid)) and guards_of(process.pid) != guards)  # noqa: B023 - called at once
        os.kill(rig.pids("S1")[0], signal.SIGKILL)  # so there is one that only the last guard was told of
        soon(lambda: len(rig.pids("S1")) == 2)
        process.kill()
        process.wait()
        soon(lambda: all(is_gone(pid) for pid in rig.pids()), 20)
    assert (tmp_path / "log.txt").read_text().count("another one begins") == 2


def guards_of(pid: int) -> list[int]:
    """The guards that a daemon has started, and that live."""
    shown = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,ppid=,stat=,args="], check=True, capture_output=True, text=True
    ).stdout
    found = [line.split(None, 3) for line in shown.splitlines()]
    return [
        int(own) for own, parent, state, args in found if int(parent) == pid and "guard.py" in args and state[0] != "Z"
    ]


def test_ctrl_c_reaches_the_daemon_alone_and_its_children_shut_down(rig: Rig, tmp_path: Path):
    words = ["--source", "kinesis://clicks", "--store", "sqlite:///leases.db", "--", sys.executable, CHILD, rig.notes]
    with daemon(rig, tmp_path, *words) as process:
        rig.wait_for(rig.put("S1", 1) + rig.put("S2", 1))
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30) == 0
    assert rig.actions("S1")[-3:] == ["shutdownRequested", "leaseLost", "end"]
    assert "KeyboardInterrupt" not in (tmp_path / "log.txt").read_text()


def test_several_streams_in_one_daemon(rig: Rig, tmp_path: Path):
    rig.sim.create_stream("views", "V1").put("V1", "a view")
    texts = rig.put("S1", 1)
    sources = ["--source", "kinesis://clicks", "--source", "kinesis://views"]
    with daemon(rig, tmp_path, *sources, "--", sys.executable, CHILD, rig.notes) as process:
        rig.wait_for([*texts, "a view"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert len(rig.pids()) == 3


def test_several_files_of_properties(rig: Rig, tmp_path: Path):
    rig.sim.create_stream("views", "V1").put("V1", "a view")
    texts = rig.put("S1", 1)
    first, second = properties(rig, tmp_path), tmp_path / "views.properties"
    second.write_text(first.read_text().replace("clicks", "views").replace("shop-app", "views-app"))
    with daemon(rig, tmp_path, "--properties", first, "--properties", second) as process:
        rig.wait_for([*texts, "a view"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert len(rig.pids()) == 3


@pytest.mark.parametrize(
    "words, says",
    [
        ([], "say what to read"),
        (["--source", "kinesis://clicks"], "no command is given"),
        (["--properties", __file__, "--size", "5"], "a file says it as maxRecords"),
        (["--properties", str(CHILD)], "executableName is missing"),
        (["--source", "kinesis://clicks", "--", "no-such-thing"], "there is no program 'no-such-thing'"),
        (["--source", "a", "--source", "dynamodb://a", "--", "true"], "two sources are called a"),
        (["--source", "kinesis://a", "--env", "NO_SUCH", "--", "true"], "there is no such variable"),
        (
            ["--source", "kinesis://a", "--folder", "/no/where", "--", "true"],
            "the working folder /no/where is not there",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(rig: Rig, tmp_path: Path, words: list[str], says: str):
    with daemon(rig, tmp_path, *words) as process:
        assert process.wait(60) == 2
    assert says in (tmp_path / "log.txt").read_text()
