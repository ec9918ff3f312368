"""What a person mistypes or lacks: a line with a remedy each, from tail and from doctor alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streamiter import errors
from streamiter.cli.catalogue import streamiter
from streamiter.cli.setting import Setting
from streamiter.cli.terminal import ending
from streamiter.cli.terminal.words import in_our_words
from streamiter.errors import TransientError
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
        (["user"], "there is no table user in us-east-1 at http://HERE; did you mean users?"),
        (
            ["kinesis://clicks"],
            "there is no stream clicks in us-east-1 at http://HERE; there is no stream at all: is it the right region?",
        ),
        (["bare"], "enable one: aws dynamodb update-table --table-name bare"),
        ([GONE], f"there is no stream {GONE}: DynamoDB removes a disabled stream after 24 hours"),
        ([GONE], "enabling it makes a new one; to read the latest, name the table: users"),
        (["users", "--region", "no region"], "'no region' is not a region; name one, such as eu-west-1: --region NAME"),
        (
            ["users", "--profile", "nobody"],
            "there is no profile 'nobody'; the profiles of your AWS configuration are: none",
        ),
        (
            ["users", "--endpoint-url", "http://127.0.0.1:1"],
            "could not be called at 127.0.0.1:1: EndpointConnectionError; "
            "is the service there? --endpoint-url and --region say",
        ),
        (
            ["users", "--endpoint-url", "127.0.0.1:8000"],
            "an endpoint URL is written http://HOST:PORT or https://HOST, not '127.0.0.1:8000'",
        ),
        (["users", "--endpoint-url", "u:secret@127.0.0.1"], "an endpoint URL is written http://HOST:PORT"),
        (["users", "--endpoint-url", "http://127.0.0.1:99999"], "an endpoint URL is written http://HOST:PORT"),
        (["users", "--endpoint-url", "http://[::1"], "an endpoint URL is written http://HOST:PORT"),
        (["users", "--endpoint-url", "http://u:secret@127.0.0.1"], "a user name or password in it is refused"),
        (["dynamodb://u:secret@users"], "credentials come from AWS's own chain (--profile, AWS_ACCESS_KEY_ID, a role)"),
        (["https://users"], "'https' is not a source; the sources are dynamodb://TABLE, kinesis://STREAM"),
        (["dynamodb://"], "this URL names no table: dynamodb://TABLE"),
        (["dynamodb://users?regoin=x"], "has no option 'regoin'; its options are endpoint_url, region"),
        (["arn:aws:s3:::bucket"], "is not the ARN of a table (arn:aws:dynamodb:REGION:ACCOUNT:table/NAME)"),
    ],
)
def test_each_mistake_is_told_with_its_remedy(sim: Simulator, call: Call, words: list[str], says: str):
    says = says.replace("http://HERE", sim.endpoint_url)
    done = call("tail", *words)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("streamiter: ") and says in done.stderr
    kind = re.fullmatch(r".* \[(\w+)\]\n", done.stderr, re.DOTALL)
    assert kind is not None and issubclass(getattr(errors, kind[1]), errors.StreamiterError)
    assert "Streams('" not in done.stderr and "secret" not in done.stderr and "Exception" not in done.stderr
    done = call("doctor", *words)
    told = " ".join(done.output.replace("→", ";").split())
    assert done.exit_code == 1
    plain = re.sub(r" \[\w+\]", "", told).replace(" ; ", "; ").replace("✗ stream ", "")
    assert all(part in plain for part in says.split("; ")), plain
    assert "Streams('" not in told and "secret" not in told and "Exception" not in told


@pytest.mark.parametrize("command", ["tail", "shards", "top", "export --to changes --format jsonl"])
def test_every_command_tells_alike_what_it_cannot_find(
    sim: Simulator, call: Call, command: str, tmp_path: Path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    name, *rest = command.split()
    done = call(name, "user", *rest)
    assert (done.exit_code, done.stdout) == (1, "")
    assert (
        done.stderr
        == f"streamiter: there is no table user in us-east-1 at {sim.endpoint_url}; did you mean users? [InvalidStream]\n"
    )
    assert not list(tmp_path.iterdir())


def test_no_credentials_and_no_region_are_told_by_the_option_that_names_them(call: Call, monkeypatch):
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert call("tail", "users").stderr == (
        "streamiter: no region is set; name one: --region NAME, or set AWS_DEFAULT_REGION [CredentialsMissing]\n"
    )
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    done = call("tail", "users")
    assert done.exit_code == 1 and "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile" in done.stderr


def test_a_region_that_could_be_none_is_no_matter_of_credentials(call: Call):
    done = call("doctor", "users", "--region", "no region")
    assert "✓ credentials" in done.stdout and "✗ region        'no region' is not a region" in done.stdout


@pytest.mark.parametrize(
    "name,value,says",
    [
        ("AWS_PROFILE", "nobody", "The config profile (nobody) could not be found; name another one: --profile NAME"),
        ("AWS_CONFIG_FILE", "broken", "Unable to parse config file: broken; name another one: --profile NAME"),
        (
            "AWS_ENDPOINT_URL",
            "127.0.0.1:8000",
            "Invalid endpoint: 127.0.0.1:8000; one is written http://HOST:PORT or https://HOST: see AWS_ENDPOINT_URL",
        ),
    ],
)
@pytest.mark.parametrize("command", ["tail", "doctor", "shards"])
def test_what_the_environment_says_wrong_is_told_as_what_is_typed_wrong(
    command: str, name: str, value: str, says: str, monkeypatch, tmp_path: Path
):
    monkeypatch.chdir(tmp_path)
    Path("broken").write_text("[[[")
    for kept, word in (environment() | {name: value}).items():
        monkeypatch.setenv(kept, word)
    done = CliRunner().invoke(streamiter, [command, "users"])
    told = re.sub(r" \[\w+\]", "", " ".join(done.output.replace("→", ";").split())).replace(" ; ", "; ")
    assert done.exit_code == 1 and says in told, told
    assert "unexpected" not in told and "Streams('" not in told
    assert command != "doctor" or "· stream not checked" in told


@pytest.mark.parametrize(
    "kind,says",
    [
        (
            "ReadTimeoutError",
            "nothing answers there: is it the service, and does it speak https? --endpoint-url says where streamiter looks",
        ),
        ("ConnectTimeoutError", "is the service there? --endpoint-url and --region say where streamiter looks"),
        ("SSLError", "if the certificate is one of your own, name its authority in AWS_CA_BUNDLE"),
        ("ProxyConnectionError", "HTTPS_PROXY and HTTP_PROXY name the proxy, and NO_PROXY the hosts that need none"),
    ],
)
def test_each_way_not_to_reach_the_service_has_its_remedy(kind: str, says: str):
    error = TransientError(f"table users: dynamodb:DescribeTable could not be called at 127.0.0.1:9: {kind}")
    assert in_our_words(error) == f"{error}; {says}"


def test_https_to_a_port_that_speaks_http_is_told_at_once_and_no_second_time(sim: Simulator, call: Call):
    endpoint = sim.endpoint_url.replace("http:", "https:")
    done = call("tail", "users", "--endpoint-url", endpoint)
    assert done.exit_code == 1 and done.stderr.count("\n") == 1
    assert f"this port speaks http, not https; write the endpoint {sim.endpoint_url} [SourceError]" in done.stderr
    assert sim.clock.monotonic() == 0, "it is not waited for"
    told = " ".join(call("doctor", "users", "--endpoint-url", endpoint).output.split())
    assert f"→ write the endpoint {sim.endpoint_url}" in told


def test_an_error_of_several_lines_that_nobody_foresaw_is_told_in_one(capsys):
    def fail() -> None:
        raise RuntimeError("first\n  second\n\nthird")

    assert ending.run(fail, is_debugging=lambda: False) == 1
    assert capsys.readouterr().err == (
        "streamiter: unexpected error: first second third; --debug shows where it comes from [RuntimeError]\n"
    )


def test_another_server_at_the_endpoint_is_told_in_a_line(sim: Simulator, call: Call):
    sim.fault("DescribeTable", kind="html", times=None)
    done = call("tail", "users")
    assert done.exit_code == 1 and done.stderr.count("\n") == 1
    assert "not from the service itself" in done.stderr and "<" not in done.stderr
    assert done.stderr.endswith("; --endpoint-url says where streamiter looks for the service [TransientError]\n")
