"""What is typed counts, or it is told: no option that somebody wrote is dropped in silence."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from streamiter.cli.catalogue import streamiter
from streamiter.testing import Simulator
from tests.cli.conftest import Invoke
from tests.stream.helpers import write


@pytest.fixture
def users(sim: Simulator) -> Simulator:
    sim.shape("S1")
    write(sim, "S1", rounds=3)
    return sim


def test_from_beside_a_place_that_is_kept_is_told_also_in_a_pipe(users: Simulator, invoke: Invoke, tmp_path: Path):
    file = tmp_path / "users.token"
    words = ("tail", "users", "--from", "trim_horizon", "--until", "caught_up", "--token-file", file)
    assert invoke(*words).stderr == ""
    told = f"streamiter: going on after the place in {file}; --from counts for a first run only\n"
    assert invoke(*words).stderr == told
    assert invoke(*words[:2], *words[4:]).stderr == "", "nobody typed --from"


def test_from_beside_an_export_that_goes_on_is_told(users: Simulator, invoke: Invoke, tmp_path: Path):
    words = ("export", "users", "--to", tmp_path / "changes", "--format", "jsonl")
    assert invoke(*words, "--from", "trim_horizon").stderr == ""
    assert invoke(*words).stderr == ""
    told = f"going on after the 3 records that {tmp_path / 'changes'} holds; --from counts for a first run only\n"
    assert invoke(*words, "--from", "latest").stderr == f"streamiter: {told}"


@pytest.mark.parametrize(
    "words,says",
    [
        (["top", "users", "--from", "latest", "--token-file", "FILE"], "--from and --token-file do not go together"),
        (["export", "users", "--to", "x", "--follow", "--until", "now"], "--follow and --until do not go together"),
        (["doctor", "users", "--policy", "--token-file", "FILE"], "--policy prints the policy and checks nothing"),
        (["tail", "users", "--json", "--color", "always"], "JSON has no colours"),
        (["token", "check", "FILE", "--region", "eu-west-1"], "name the stream, too, with --url"),
        (["tail", "dynamodb://users?region=eu-west-1", "--region", "eu-west-2"], "--region and the URL say different"),
        (["shards", "arn:aws:dynamodb:eu-west-1:1:table/users", "--region", "eu-west-2"], "--region and the URL say"),
        (["top", "dynamodb://users?endpoint_url=http://a", "--endpoint-url", "http://b"], "--endpoint-url and the URL"),
        (["simulate", "--shape", "S0", "--knob", "starting-shape=S1"], "--shape and --knob starting_shape set"),
        (["simulate", "--limits", "--knob", "describe_rate=3"], "--limits and --knob describe_rate set the same knob"),
        (["simulate", "--knob", "page_size=3", "--knob", "page_size=4"], "--knob page_size is there twice"),
    ],
)
def test_options_that_contradict_each_other_are_refused(words: list[str], says: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("FILE").write_text("{}")
    done = CliRunner().invoke(streamiter, words)
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    assert says in done.stderr


def test_the_same_word_twice_is_no_contradiction(users: Simulator):
    from streamiter.cli.setting import Setting, StreamAddress
    from tests.cli.conftest import in_context

    with in_context(Setting(find=lambda url, **told: told)):
        place = StreamAddress("arn:aws:dynamodb:eu-west-1:1:table/users", None, "eu-west-1")
        assert place.source()["region"] == "eu-west-1"
