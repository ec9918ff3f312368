"""`streamiter doctor`: it finds what is wrong, names the remedy, and its exit code says whether all is well."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import arrow
import pytest
from click.testing import CliRunner, Result

from streamiter import DynamoDBStreams, Stream
from streamiter.cli.catalogue import streamiter
from streamiter.cli.checks.findings import Finding, finding_lines, verdict
from streamiter.cli.checks.idle import DAY_SECONDS, idle_day
from streamiter.cli.checks.policy import least_policy, table_arn_of
from streamiter.cli.setting import Setting
from streamiter.testing import Simulator
from tests.cli.conftest import environment, run

Doctor = Callable[..., Result]


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator("S0 => {S1, S2}", ids="service") as simulator:
        simulator.put("S1")
        yield simulator


@pytest.fixture
def doctor(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> Doctor:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)

    def doctor(*arguments: object, url: str = "users") -> Result:
        setting = Setting(clock=sim.clock)
        words = ["doctor", url, "--endpoint-url", sim.endpoint_url, *map(str, arguments)]
        return CliRunner().invoke(streamiter, words, obj=setting)

    return doctor


def told(done: Result) -> dict[str, dict[str, str]]:
    return {finding["title"]: finding for finding in json.loads(done.stdout)}


def test_all_is_well(sim: Simulator, doctor: Doctor):
    sim.clock.advance(600)
    done = doctor()
    assert done.exit_code == 0, done.output
    titles = [line[2:].split()[0] for line in done.stdout.splitlines() if line.startswith("✓")]
    assert titles == ["credentials", "region", "stream", "view", "shards", "idle", "clock", "records"]
    assert (
        "3 listed, 2 open" in done.stdout
        and "the oldest is 10 m old, and the service keeps records for 1 d" in done.stdout
    )
    assert done.stdout.endswith("All is well.\n")
    assert "simulator" not in done.stdout.replace("127.0.0.1", ""), "no key is shown whole"
    wanted = ["credentials", "region", "stream", "view type", "shards", "idle day", "clock", "records"]
    assert list(told(doctor("--json"))) == wanted


def test_a_stream_arn_is_not_looked_up(sim: Simulator, doctor: Doctor):
    sim.fault("DescribeTable", kind="access_denied", times=None)
    assert doctor(url=sim.stream_arn).exit_code == 0
    assert doctor().exit_code == 1


@pytest.mark.parametrize("operation", ["DescribeTable", "DescribeStream", "GetShardIterator", "GetRecords"])
def test_a_missing_permission_is_named_and_the_least_policy_printed(sim: Simulator, doctor: Doctor, operation):
    sim.fault(operation, kind="access_denied", times=None)
    done = doctor()
    assert done.exit_code == 1
    assert f"permission is missing: dynamodb:{operation}\n" in done.stdout
    policy = json.loads(done.stdout[done.stdout.index("\n{") : done.stdout.index("\n}\n") + 2])
    assert any(f"dynamodb:{operation}" in statement["Action"] for statement in policy["Statement"])


@pytest.mark.parametrize(
    "kind,words", [("unknown_key", "the access key is not known"), ("expired_token", "log in again")]
)
def test_credentials_that_are_refused_are_not_called_a_permission(sim: Simulator, doctor: Doctor, kind, words):
    sim.fault(kind=kind, times=None)
    finding = [finding for finding in json.loads(doctor("--json").stdout) if finding["mark"] == "bad"]
    assert [found["title"] for found in finding] == ["credentials"] and words in finding[0]["remedy"]
    done = call_tail(sim)
    assert words in done.stderr and "IAM" not in done.stderr and done.stderr.endswith(" [AccessDenied]\n")


def call_tail(sim: Simulator) -> Result:
    words = ["tail", "users", "--endpoint-url", sim.endpoint_url]
    return CliRunner().invoke(streamiter, words, obj=Setting(clock=sim.clock))


OPERATIONS = ("DescribeTable", "DescribeStream", "GetShardIterator", "GetRecords")


@pytest.mark.parametrize("kind", ["access_denied", "unknown_key", "expired_token", "500", "html"])
@pytest.mark.parametrize("operation", [None, *OPERATIONS])
@pytest.mark.parametrize("is_disabled", [False, True], ids=["enabled", "disabled"])
def test_each_thing_is_told_once_whatever_fails(sim: Simulator, doctor: Doctor, operation, kind, is_disabled):
    if is_disabled:
        sim.disable()
    sim.fault(operation, kind=kind, times=None)
    done = doctor("--json")
    titles = [finding["title"] for finding in json.loads(done.stdout)]
    assert len(titles) == len(set(titles)), titles
    assert titles[0] == "credentials" and done.exit_code == 1


def test_credentials_that_end_half_way_are_told_where_they_ended(sim: Simulator, doctor: Doctor):
    sim.fault("GetRecords", kind="expired_token", times=None)
    found = told(doctor("--json"))
    assert found["credentials"]["mark"] == "good" and found["records"]["mark"] == "bad"
    assert "ExpiredTokenException" in found["records"]["told"] and "log in again" in found["records"]["remedy"]


def test_an_idle_day_is_priced_and_says_by_which_assumption(sim: Simulator, doctor: Doctor):
    assert told(doctor("--json"))["idle day"]["told"] == (
        "172,800 GetRecords calls a day for each reader (2 open shards x 86,400 s x 1 a second), about $0.03 at $0.02 for "
        "100,000; the first 2,500,000 of a month are free, and so are 1,440 DescribeStream calls"
    )
    assert "about $1.73 at $1 for 100,000;" in told(doctor("--json", "--price", "1"))["idle day"]["told"]


def test_a_reader_asks_on_an_idle_day_as_often_as_it_is_told(sim: Simulator):
    with Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock) as stream:
        list(stream.follow(until="caught_up"))
        before, since = dict(stream.stats.calls), sim.clock.monotonic()
        list(stream.follow(until=arrow.get(sim.clock.now() + 1800)))
        asked = {kind: count - before[kind] for kind, count in stream.stats.calls.items()}
        part = (sim.clock.monotonic() - since) / DAY_SECONDS
    day = idle_day(2, 3, "dynamodb")
    assert asked["fetch"] == pytest.approx(day.reads * part, rel=0.1)
    assert asked["list_shards"] == pytest.approx(day.listings * part, rel=0.2)


def test_no_credentials_and_no_region(sim: Simulator):
    env = environment(AWS_ENDPOINT_URL=sim.endpoint_url)
    without = {name: value for name, value in env.items() if "ACCESS_KEY" not in name}
    done = run(sim, "doctor", "users", env=without)
    assert done.returncode == 1 and "✗ credentials" in done.stdout and "--profile NAME" in done.stdout
    without = {name: value for name, value in env.items() if "REGION" not in name}
    done = run(sim, "doctor", "users", env=without)
    assert done.returncode == 1 and "--region NAME" in done.stdout


def test_no_table_and_no_stream(sim: Simulator, doctor: Doctor):
    finding = told(doctor("--json", url="user"))["stream"]
    assert (finding["mark"], finding["remedy"]) == ("bad", "did you mean users?")
    sim.create_table("bare", stream=False)
    finding = told(doctor("--json", url="bare"))["stream"]
    assert finding["mark"] == "bad" and "aws dynamodb update-table" in finding["remedy"]


def test_a_disabled_stream_is_told(sim: Simulator, doctor: Doctor):
    sim.disable()
    done = doctor("--json")
    assert done.exit_code == 1
    assert "disabled" in told(done)["stream"]["told"] and "StreamEnabled=true" in told(done)["stream"]["remedy"]


@pytest.mark.parametrize("view", ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE"])
def test_a_poor_view_type_is_told_but_nothing_is_broken(sim: Simulator, doctor: Doctor, view):
    sim.create_table("poor", "S0", view=view)
    done = doctor("--json", url="poor")
    assert done.exit_code == 0
    assert told(done)["view type"]["mark"] == "note" and "NEW_AND_OLD_IMAGES" in told(done)["view type"]["remedy"]


@pytest.mark.parametrize(
    "skew,mark,words",
    [(0, "good", "agrees"), (30, "note", "30 s behind"), (-30, "note", "30 s ahead of"), (600, "bad", "10 m behind")],
)
def test_the_clock_is_compared(sim: Simulator, doctor: Doctor, skew, mark, words):
    sim.knobs.skew = skew
    done = doctor("--json")
    assert told(done)["clock"]["mark"] == mark and words in told(done)["clock"]["told"]
    assert done.exit_code == (1 if mark == "bad" else 0)


def test_an_old_service_without_times_is_a_note(sim: Simulator, doctor: Doctor):
    sim.knobs.knows_at_timestamp = False
    assert told(doctor("--json"))["times"]["mark"] == "note"


def test_a_token_is_looked_at_too(sim: Simulator, doctor: Doctor, tmp_path: Path):
    from streamiter import DynamoDBStreams, Stream

    file = tmp_path / "token"
    with Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock) as stream:
        next(stream.follow())
        file.write_text(json.dumps(stream.token))
    assert told(doctor("--json", "--token-file", file))["token"]["told"] == "at the tip"
    sim.put("S1")
    sim.clock.advance(hours=2)
    assert (
        told(doctor("--json", "--token-file", file))["token"]["told"]
        == "2 h behind; the service holds the rest for 22 h more"
    )
    sim.clock.advance(hours=20)
    assert told(doctor("--json", "--token-file", file))["token"]["mark"] == "note"
    sim.trim("S1")
    done = doctor("--json", "--token-file", file)
    assert done.exit_code == 1 and "no longer holds its place" in told(done)["token"]["told"]


def test_a_service_that_does_not_answer(doctor: Doctor, sim: Simulator):
    sim.fault("DescribeStream", kind="500", times=None)
    done = doctor("--json")
    assert done.exit_code == 1
    marks: list[Any] = [finding["mark"] for finding in json.loads(done.stdout)]
    assert marks.count("bad") == 1 and marks[-1] == "skipped"


def test_what_was_found_is_told_before_what_takes_long(sim: Simulator, doctor: Doctor, monkeypatch):
    printed: list[str] = []
    list_shards = DynamoDBStreams.list_shards

    def slow(*arguments: Any) -> object:
        printed.append("asked for the shards")
        return list_shards(*arguments)

    monkeypatch.setattr(DynamoDBStreams, "list_shards", slow)
    monkeypatch.setattr("streamiter.cli.commands.doctor.click.echo", lambda line="": printed.append(line))
    assert doctor().exit_code == 0
    told = [line.split()[1] for line in printed[: printed.index("asked for the shards")] if line.startswith("✓")]
    assert told == ["credentials", "region", "stream", "view"]
    assert printed[-1] == "All is well."


def test_policies_name_the_table_as_far_as_it_is_known(doctor: Doctor, sim: Simulator):
    assert table_arn_of("users", None) == "arn:aws:dynamodb:REGION:ACCOUNT:table/users"
    policy = json.loads(doctor("--policy", url=sim.stream_arn).stdout)
    assert policy == least_policy(sim.table_arn, by_stream_arn=True)
    assert [statement["Resource"] for statement in policy["Statement"]] == [f"{sim.table_arn}/stream/*"]


def test_findings_are_wrapped_to_the_width():
    finding = Finding("bad", "stream", "word " * 40, "remedy " * 20)
    for width in (32, 40, 60, 80, 120):
        lines = ["".join(span.text for span in line) for line in finding_lines(finding, width)]
        assert max(map(len, lines)) <= width and len(lines) > 2
    assert verdict([finding, Finding("skipped", "x", "")]) == "1 problem to fix. The rest could not be checked."
    assert verdict([Finding("note", "x", "")]) == "It works; 1 thing to know."


def test_a_missing_region_is_not_a_matter_of_credentials(doctor: Doctor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    done = doctor("--json")
    assert done.exit_code == 1 and told(done)["credentials"]["mark"] == "good"
    assert told(done)["region"]["mark"] == "bad" and "no region is set" in told(done)["region"]["told"]
    assert told(done)["region"]["remedy"] == "name one: --region NAME, or set AWS_DEFAULT_REGION"


def test_a_broken_token_is_not_to_be_tried_again(doctor: Doctor, tmp_path: Path):
    file = tmp_path / "token"
    file.write_text('{"streamiter": 1}')
    found = told(doctor("--json", "--token-file", file))["token"]
    assert found["mark"] == "bad" and "cannot be used" in found["told"]
    assert "a copy that is whole" in found["remedy"]
