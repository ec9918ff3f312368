"""What a person mistypes or lacks: a line with a remedy each, from tail and from doctor alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streamiter.cli.commands import streamiter
from streamiter.cli.setting import Setting
from streamiter.testing import Simulator
from tests.cli.conftest import environment

GONE = "arn:aws:dynamodb:us-east-1:000000000000:table/users/stream/2020-01-01T00:00:00.000"
Call = Callable[..., Result]


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator(ids="service") as simulator:
        simulator.create_table("bare", stream=False)
        yield simulator


@pytest.fixture
def call(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> Call:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)

    def call(command: str, *words: str) -> Result:
        given = list(words) if "--endpoint-url" in words else [*words, "--endpoint-url", sim.endpoint_url]
        return CliRunner().invoke(streamiter, [command, *given], obj=Setting(clock=sim.clock))

    return call


@pytest.mark.parametrize(
    "words,says",
    [
        (["user"], "there is no table user here; did you mean users?"),
        (["kinesis://clicks"], "there is no stream clicks here; there is no stream at all: is it the right region?"),
        (["bare"], "enable one: aws dynamodb update-table --table-name bare"),
        ([GONE], f"there is no stream {GONE}: one that was disabled is gone after 24 hours"),
        ([GONE], "enabling makes a new one; the table's name means its latest: users"),
        (["users", "--region", "no region"], "'no region' is no region; name one, such as eu-west-1: --region NAME"),
        (["users", "--profile", "nobody"], "there is no profile 'nobody'; there are: none"),
        (
            ["users", "--endpoint-url", "http://127.0.0.1:1"],
            "does anything listen there? --endpoint-url and --region say",
        ),
        (["users", "--endpoint-url", "127.0.0.1:8000"], "an endpoint URL is written http://HOST:PORT or https://HOST"),
        (["users", "--endpoint-url", "http://u:secret@127.0.0.1"], "a user name or password in it is refused"),
        (["dynamodb://u:secret@users"], "credentials come from AWS's own chain (--profile, AWS_ACCESS_KEY_ID, a role)"),
        (["https://users"], "no source is called 'https': there are dynamodb://TABLE and kinesis://STREAM"),
        (["dynamodb://"], "this URL names no table: dynamodb://TABLE"),
        (["dynamodb://users?regoin=x"], "knows no option 'regoin'; it knows endpoint_url, region"),
        (["arn:aws:s3:::bucket"], "is not the ARN of a table (arn:aws:dynamodb:REGION:ACCOUNT:table/NAME)"),
    ],
)
def test_each_mistake_is_told_with_its_remedy(call: Call, words: list[str], says: str):
    done = call("tail", *words)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("streamiter: ") and says in done.stderr
    assert "Streams('" not in done.stderr and "secret" not in done.stderr and "Exception" not in done.stderr
    done = call("doctor", *words)
    told = " ".join(done.output.replace("→", ";").split())
    assert done.exit_code == 1
    plain = told.replace(" ; ", "; ").replace("✗ stream ", "")
    assert all(part in plain for part in says.split("; ")), plain
    assert "Streams('" not in told and "secret" not in told and "Exception" not in told


@pytest.mark.parametrize("command", ["tail", "shards", "top", "export --to changes --format jsonl"])
def test_every_command_tells_alike_what_it_cannot_find(call: Call, command: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, *rest = command.split()
    done = call(name, "user", *rest)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "streamiter: there is no table user here; did you mean users?\n"
    assert not list(tmp_path.iterdir())


def test_no_credentials_and_no_region_are_told_by_the_option_that_names_them(call: Call, monkeypatch):
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert call("tail", "users").stderr == (
        "streamiter: no region is set; name one: --region NAME, or set AWS_DEFAULT_REGION\n"
    )
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    done = call("tail", "users")
    assert done.exit_code == 1 and "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile" in done.stderr


def test_a_region_that_could_be_none_is_no_matter_of_credentials(call: Call):
    done = call("doctor", "users", "--region", "no region")
    assert "✓ credentials" in done.stdout and "✗ region        'no region' is no region" in done.stdout
