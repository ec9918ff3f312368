"""`streamiter token`: shown, checked, converted."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from streamiter import DynamoDBStreams, Stream
from streamiter.testing import Simulator
from tests.cli.conftest import Invoke, command_line, environment
from tests.stream.helpers import drain, in_order, write


@pytest.fixture
def users(sim: Simulator) -> Simulator:
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=3)
    sim.split("S1", "S3", "S4")
    write(sim, "S3", "S4", rounds=3)
    return sim


def token_after(sim: Simulator, records: int, position: Any = "trim_horizon") -> dict[str, Any]:
    with Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), position, clock=sim.clock) as stream:
        for _ in zip(range(records), stream.follow(), strict=False):
            pass
        return stream.token


def bloops(sim: Simulator) -> dict[str, Any]:
    number = next(record.sequence_number for record in sim.history if record.shard_id == "S2")
    active = {"shard_id": "S2", "parent": None, "iterator_type": "after_sequence", "sequence_number": number}
    return {"stream_arn": sim.stream_arn, "active": ["S2"], "shards": [active]}


def save(path: Path, token: dict[str, Any]) -> Path:
    path.write_text(json.dumps(token))
    return path


def test_show_says_where_it_stands_in_each_shard(users: Simulator, invoke: Invoke, tmp_path: Path):
    users.clock.advance(60)
    done = invoke("token", "show", save(tmp_path / "token", token_after(users, 8)))
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == f"stream    {users.stream_arn}"
    assert lines[1] == "returned  8 records"
    assert lines[2] == "up to     2025-06-15 15:06:43 UTC (1 m 3 s ago)  in S4"
    assert lines[3] == "unnamed   shards that it does not name start at the horizon"
    stands = {line.split()[0]: line for line in lines[6:]}
    assert stands["S1"].endswith("finished")
    last = [record for record in users.history if record.shard_id == "S2"][-1]
    assert f"after record {last.sequence_number}, at 2025-06-15 15:06:42 UTC" in stands["S2"]


def test_show_tells_starts_and_bloops_tokens(users: Simulator, invoke: Invoke, tmp_path: Path):
    latest = token_after(users, 0, "latest")
    assert "from 2025-06-15 15:06:45 UTC" in invoke("token", "show", save(tmp_path / "latest", latest)).stdout
    shown = invoke("token", "show", save(tmp_path / "bloop", bloops(users))).stdout
    assert "from Bloop" in shown and "S2     after record" in shown


def test_one_record_is_told_as_one(users: Simulator, invoke: Invoke, tmp_path: Path):
    shown = invoke("token", "show", save(tmp_path / "token", token_after(users, 1))).stdout
    assert shown.splitlines()[1] == "returned  1 record"


def test_show_reads_a_pipe(users: Simulator):
    text = json.dumps(token_after(users, 2))
    done = subprocess.run(
        command_line("token", "show", "-"), input=text, capture_output=True, text=True, env=environment(), check=False
    )
    assert done.returncode == 0 and "returned  2 records" in done.stdout


def test_check_without_a_stream_looks_at_the_token_alone(users: Simulator, invoke: Invoke, tmp_path: Path):
    done = invoke("token", "check", save(tmp_path / "token", token_after(users, 8)))
    assert done.exit_code == 0 and done.stdout == f"ours, whole, 4 shards, of {users.stream_arn}\n"
    token = token_after(users, 8)
    token["lanes"][1][3] = "seven"
    done = invoke("token", "check", save(tmp_path / "token", token))
    assert done.exit_code == 1 and "(at $.lanes[1][3][0])" in done.stderr
    assert (
        invoke("token", "check", tmp_path / "none").stderr
        == f"streamiter: the file {tmp_path / 'none'} does not exist\n"
    )


@pytest.mark.parametrize(
    "words", [("token", "show"), ("token", "check"), ("token", "convert"), ("tail", "users", "--token-file")]
)
@pytest.mark.parametrize(
    "text, says",
    [
        ('{"streamiter": 1}', "cannot be used: `stream` is missing (at $); take a copy"),
        ('{"streamiter": 1, "stream": "x", "lanes": [{}]}', "cannot be used: `shard` is missing (at $.lanes[0]); take"),
        ('{"streamiter": 3}', "newer streamiter (version 3, this one reads up to 2) (at $.streamiter); upgrade"),
        ('{"streamiter": 1, "stream": "x", "start": 1e99}', "cannot be used: a whole number or nothing belongs there"),
        ('{"streamiter": 1, "stream": "x", "start": 9999999999999999999}', "a time counts microseconds since 1970"),
        ('{"streamiter": 1, "stre', "holds no JSON"),
        ("[7]", "holds no token"),
        ("[" * 100_000, "holds no JSON"),
        ("", "is empty"),
    ],
)
def test_a_damaged_token_is_told_in_one_line_by_file_place_and_remedy(invoke, tmp_path, words, text, says):
    file = tmp_path / "token"
    file.write_text(text)
    done = invoke(*words, file)
    assert done.exit_code == 1 and done.stdout == "" and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"streamiter: the token file {file} ") and says in done.stderr
    assert "Object" not in done.stderr and "; " in done.stderr
    assert file.read_text() == text


def test_a_damaged_token_from_a_pipe_is_said_to_be_from_there():
    done = subprocess.run(
        command_line("token", "check", "-"), input="{}", capture_output=True, text=True, env=environment(), check=False
    )
    assert done.returncode == 1 and done.stderr.startswith("streamiter: the token from the pipe cannot be used: it has")


def test_check_with_a_stream_tries_it(users: Simulator, invoke: Invoke, tmp_path: Path):
    file = save(tmp_path / "token", token_after(users, 4))
    users.clock.advance(hours=1)
    done = invoke("token", "check", file, "--url", "users")
    assert done.exit_code == 0 and "1 h behind; the service holds the rest for 22 h 59 m more" in done.stdout
    users.trim("S2")
    done = invoke("token", "check", file, "--url", "users")
    assert done.exit_code == 1 and "no longer holds its place in S2" in done.stdout and "--skip-gaps" in done.stdout
    other = save(tmp_path / "other", token_after(users, 0) | {"stream": "arn:other"})
    done = invoke("token", "check", other, "--url", "users")
    assert done.exit_code == 1 and "it is of another stream" in done.stderr
    assert done.stderr.endswith("; name that stream, or another token file [InvalidToken]\n")


def test_a_bloop_token_converts_to_one_that_reads_the_same(users: Simulator, invoke: Invoke, tmp_path: Path):
    file, ours = save(tmp_path / "bloop", bloops(users)), tmp_path / "ours"
    assert invoke("token", "convert", file, "--to", ours).exit_code == 0
    printed = json.loads(invoke("token", "convert", file).stdout)
    converted = json.loads(ours.read_text())
    assert converted == printed and converted["streamiter"] == 2

    def read(token: Any) -> list[str]:
        with Stream(DynamoDBStreams(users.stream_arn, client=users.client()), token, clock=users.clock) as stream:
            return [record.sequence_number for record in drain(stream, users.clock)]

    first = next(record for record in users.history if record.shard_id == "S2")
    expected = [record.sequence_number for record in in_order(users) if record.shard_id != "S1" and record != first]
    assert read(converted) == read(bloops(users)) == expected
    assert json.loads(invoke("token", "convert", ours).stdout) == converted, "ours come out as they are"
