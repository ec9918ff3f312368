"""Other clients read from the simulator: Bloop 3.1 and the AWS CLI, each in an environment of its own, made when asked for.

Both pin what clashes with ours. `./dev test --real tests/testing/test_other_clients.py` makes the environments.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from benchmarks.environment import bloop_python
from streamiter.testing import RunningClock, Simulator
from tests.testing.tables import Orders

ROOT = Path(__file__).parents[2]
AWS_CLI = "awscli==1.*"
PLACE = ROOT / ".venv-awscli"

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


@pytest.fixture
def sim():
    with Simulator(table=None, ids="service", clock=RunningClock()) as simulator:
        yield simulator


def test_bloop_makes_a_table_writes_reads_and_resumes(sim):
    reader = Path(__file__).with_name("bloop_reader.py")
    command = [str(bloop_python()), "-W", "ignore", str(reader), sim.endpoint_url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    inserted = [["insert", str(number), number, None] for number in range(5)]
    assert sorted(told["found"][:5]) == inserted
    assert told["found"][5:] == [["remove", "3", None, 3]]
    assert told["later"] == ["later"]


def test_the_aws_cli_lists_describes_and_reads(sim):
    orders = Orders(sim)
    orders.put("a", n={"N": "1"})
    sim.table("orders").split(sim.table("orders").open_shards[0])

    def aws(service: str, *arguments: str) -> Any:
        options = ["--endpoint-url", sim.endpoint_url, "--region", "us-east-1", "--output", "json"]
        command = [str(aws_cli()), service, *arguments, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    [listed] = aws("dynamodbstreams", "list-streams", "--table-name", "orders")["Streams"]
    arn = listed["StreamArn"]
    shards = aws("dynamodbstreams", "describe-stream", "--stream-arn", arn)["StreamDescription"]["Shards"]
    assert [shard.get("ParentShardId") for shard in shards] == [None] + [shards[0]["ShardId"]] * 2
    place = ("--stream-arn", arn, "--shard-id", shards[0]["ShardId"], "--shard-iterator-type", "TRIM_HORIZON")
    iterator = aws("dynamodbstreams", "get-shard-iterator", *place)["ShardIterator"]
    [record] = aws("dynamodbstreams", "get-records", "--shard-iterator", iterator)["Records"]
    assert record["dynamodb"]["NewImage"] == {"id": {"S": "a"}, "n": {"N": "1"}}
    assert aws("dynamodb", "describe-table", "--table-name", "orders")["Table"]["LatestStreamArn"] == arn


def aws_cli() -> Path:
    """The command; makes its environment where there is none."""
    command, stamp = PLACE / "bin" / "aws", PLACE / "made-from"
    if not (stamp.exists() and stamp.read_text() == f"{AWS_CLI} {sys.version}"):
        venv.EnvBuilder(with_pip=True, symlinks=True, clear=True).create(PLACE)
        (PLACE / ".gitignore").write_text("*\n")
        install = [str(PLACE / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input", AWS_CLI]
        subprocess.run(install, check=True, stdin=subprocess.DEVNULL)
        stamp.write_text(f"{AWS_CLI} {sys.version}")
    return command


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return kept | {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "NO_PROXY": "127.0.0.1"}
