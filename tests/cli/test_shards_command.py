"""`streamiter shards` on a stream: the tree, where a token stands in it, and pictures as files."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from streamiter import DynamoDBStreams, Stream
from streamiter.cli.commands.shards import broken
from streamiter.installing import install_command
from streamiter.testing import Simulator
from tests.cli.conftest import Invoke, run, token_in
from tests.stream.helpers import write


@pytest.fixture
def users(sim: Simulator) -> Simulator:
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=4, every=600)
    sim.split("S1", "S3", "S4")
    write(sim, "S2", "S3", "S4", rounds=4, every=600)
    sim.roll("S4", "S5")
    write(sim, "S2", "S3", "S5", rounds=4, every=600)
    return sim


def squeezed(line: str) -> str:
    return " ".join(line.split())


def save_token(sim: Simulator, file: Path, records: int) -> None:
    with Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock) as stream:
        for _ in zip(range(records), stream.follow(), strict=False):
            pass
        file.write_text(json.dumps(stream.token))


def test_the_tree_shows_state_and_age(users: Simulator, invoke: Invoke):
    done = invoke("shards", "users")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines() == [
        users.stream_arn,
        "enabled, 5 shards, 3 open",
        "",
        "shard   state        began  holds from",
        "S1      closed         2 h         2 h",
        "├╴S3    open      1 h 20 m    1 h 20 m",
        "└╴S4    closed    1 h 20 m    1 h 20 m",
        "  └╴S5  open          40 m        40 m",
        "S2      open           2 h         2 h",
    ]


def test_the_tree_shows_where_a_token_stands(users: Simulator, invoke: Invoke, tmp_path: Path):
    file = tmp_path / "users.token"
    save_token(users, file, 8 + 12)
    lines = invoke("shards", "users", "--token-file", file).stdout.splitlines()[4:]
    told = {line.lstrip(" ├└│╴").split()[0]: line.split("  ")[-1].strip() for line in lines}
    assert told["S1"] == told["S4"] == "read"
    assert told["S3"] == told["S2"] == "here, 40 m behind"
    assert told["S5"] in ("from its start, 40 m behind", "not reached")
    save_token(users, file, 3)
    lines = invoke("shards", "users", "--token-file", file).stdout.splitlines()[4:]
    told = {line.lstrip(" ├└│╴").split()[0]: line.split("  ")[-1].strip() for line in lines}
    assert told == {
        "S1": "here, 1 h 40 m behind",
        "S2": "here, 1 h 50 m behind",
        "S3": "not reached",
        "S4": "not reached",
        "S5": "not reached",
    }


def test_a_token_whose_place_expired_is_told(users: Simulator, invoke: Invoke, tmp_path: Path):
    file = tmp_path / "users.token"
    save_token(users, file, 3)
    users.trim("S2", before=4)
    lines = invoke("shards", "users", "--token-file", file).stdout.splitlines()
    assert "S2 open 1 h 20 m 1 h 20 m its place has expired: a gap" in map(squeezed, lines)
    other = tmp_path / "other.token"
    other.write_text(json.dumps(token_in(file) | {"stream": "arn:aws:dynamodb:us-east-1:0:table/x/stream/1"}))
    done = invoke("shards", "users", "--token-file", other)
    assert done.exit_code == 1 and "it is of another stream" in done.stderr


def test_what_is_trimmed_empty_or_gone_is_told(users: Simulator, invoke: Invoke):
    users.trim("S1")
    users.remove("S2", listed=True)
    lines = invoke("shards", "users").stdout.splitlines()
    assert {"S1 empty ? nothing", "S2 open ? nothing"} <= set(map(squeezed, lines))
    users.remove("S1")
    assert any(
        line.startswith("S3") and line.endswith("parent trimmed")
        for line in invoke("shards", "users").stdout.splitlines()
    )


def test_empty_pages_and_throttles_do_not_deceive_it(users: Simulator, invoke: Invoke):
    calm = invoke("shards", "users", "--json").stdout
    users.misbehave(3, gone=0, trimmed=0, lists_nothing=0, lag=0, looks_open=0, jitter=0, skew=0)
    told, wanted = json.loads(invoke("shards", "users", "--json").stdout), json.loads(calm)
    assert [shard["first_record_us"] for shard in told] == [shard["first_record_us"] for shard in wanted]


@pytest.mark.parametrize("kind,name", [("500", "TransientError"), ("access_denied", "AccessDenied")])
def test_a_shard_that_fails_does_not_hide_the_others(users: Simulator, invoke: Invoke, tmp_path: Path, kind, name):
    file, svg = tmp_path / "users.token", tmp_path / "a.svg"
    save_token(users, file, 20)
    users.fault("GetRecords", "S2", kind=kind, times=None)
    done = invoke("shards", "users", "--token-file", file, "--svg", svg)
    lines = [squeezed(line) for line in done.stdout.splitlines()]
    assert done.exit_code == 1 and done.stderr == ""
    assert "S2 open ? ? ?" in lines and "├╴S3 open 1 h 20 m 1 h 20 m here, 40 m behind" in lines
    assert lines[-1].startswith("? S2 could not be read: dynamodb:GetRecords: ") and lines[-1].endswith(f"[{name}]")
    assert "; 1 shard could not be read, so records are not counted" in svg.read_text("utf-8")
    told = {shard["shard_id"]: shard["error"] for shard in json.loads(invoke("shards", "users", "--json").stdout)}
    assert told.pop("S2").endswith(f"[{name}]") and set(told.values()) == {None}


def test_shards_that_fail_alike_are_told_together(users: Simulator, invoke: Invoke):
    users.fault("GetShardIterator", kind="access_denied", times=None)
    done = invoke("shards", "users")
    lines = done.stdout.splitlines()
    assert done.exit_code == 1 and len(lines) == 4 + 5 + 2
    assert lines[-1].startswith("? S1, S2, S3 and 2 more could not be read: dynamodb:GetShardIterator: AccessDenied")


def test_a_service_that_fails_for_each_shard_is_not_waited_for_at_each(sim: Simulator, invoke: Invoke):
    sim.shape(" ~ ".join(f"S{number}" for number in range(200)))
    sim.fault("GetRecords", kind="500", times=None)
    assert invoke("shards", "users").exit_code == 1
    assert sim.calls.by_operation["GetRecords"] < 200 + 6 * 50, "most are tried once"


def test_an_arn_is_broken_between_its_parts_and_whole_in_a_pipe(users: Simulator, invoke: Invoke):
    assert invoke("shards", "users").stdout.splitlines()[0] == users.stream_arn
    for room in (40, 60, 80, 200):
        lines = broken(users.stream_arn, room)
        assert "".join(line.strip() for line in lines) == users.stream_arn
        assert max(map(len, lines)) <= room and (len(lines) > 1) is (len(users.stream_arn) > room)
        assert all(line[2] in "/:" for line in lines[1:])


def test_json_is_for_programs(users: Simulator, invoke: Invoke, tmp_path: Path):
    file = tmp_path / "users.token"
    save_token(users, file, 32)
    told = json.loads(invoke("shards", "users", "--json", "--token-file", file).stdout)
    assert [shard["shard_id"] for shard in told] == ["S1", "S3", "S4", "S5", "S2"]
    assert told[1]["parents"] == ["S1"] and told[1]["state"] == "open"
    assert {shard["token"] for shard in told} == {"read", "here"}
    assert told[1]["lag_seconds"] == 0


def test_pictures_are_drawn_to_files(users: Simulator, invoke: Invoke, tmp_path: Path):
    token, svg, png = tmp_path / "users.token", tmp_path / "a.svg", tmp_path / "a.png"
    save_token(users, token, 20)
    done = invoke("shards", "users", "--token-file", token, "--svg", svg, "--png", png)
    assert done.exit_code == 0, done.stderr
    root = ElementTree.fromstring(svg.read_text("utf-8"))
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"S1", "S2", "S3", "S5", "users.token", "now"} <= set(words)
    assert "32 records, 5 shards, 3 open; seen 2025-06-15 17:06:40 UTC" in words
    with Image.open(png) as image:
        assert image.size == (2 * float(root.attrib["width"]), 2 * float(root.attrib["height"]))
        assert len(image.getcolors(1 << 20) or ()) > 100, "smooth edges"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "a.svg", "users.token"]


def test_where_a_picture_cannot_be_written_nothing_is_read(users: Simulator, invoke: Invoke, tmp_path: Path):
    before = len(users.calls)
    done = invoke("shards", "users", "--svg", tmp_path / "none" / "a.svg")
    assert done.exit_code == 1 and "a.svg cannot be written" in done.stderr
    assert len(users.calls) == before


def test_a_picture_that_does_not_fit_on_the_disk_is_named(
    users: Simulator, invoke: Invoke, tmp_path: Path, monkeypatch
):
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr("streamiter.tokenfile.os.fsync", lambda _: (_ for _ in ()).throw(full))
    done = invoke("shards", "users", "--svg", tmp_path / "a.svg")
    assert (done.exit_code, done.stderr) == (1, f"streamiter: {tmp_path / 'a.svg'}: No space left on device\n")
    assert not list(tmp_path.iterdir())


def test_since_leaves_out_what_is_older(users: Simulator, invoke: Invoke, tmp_path: Path):
    invoke("shards", "users", "--since", "50 minutes ago", "--svg", tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text("utf-8")
    assert ">S5<" in text and ">S1<" not in text


def test_since_without_a_picture_is_a_mistake(users: Simulator, invoke: Invoke):
    done = invoke("shards", "users", "--since", "50 minutes ago")
    assert done.exit_code == 2 and "--svg FILE or --png FILE" in done.output


def test_as_a_process_with_the_services_own_ids(served: Simulator):
    served.shape("S1")
    write(served, "S1", every=0)
    served.split("S1", "S2", "S3")
    done = run(served, "shards", "users")
    assert done.returncode == 0, done.stderr
    names = [line.lstrip(" ├└╴").split()[0] for line in done.stdout.splitlines()[4:]]
    assert [served.shard_id(name).endswith(end) for name, end in zip(("S1", "S2", "S3"), names, strict=True)] == [
        True
    ] * 3
    whole = run(served, "shards", "users", "--ids").stdout
    assert all(served.shard_id(name) in whole for name in ("S1", "S2", "S3"))


def test_without_pillow_it_says_how_to_get_it(users: Simulator, invoke: Invoke, tmp_path: Path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    done = invoke("shards", "users", "--png", tmp_path / "a.png")
    assert done.exit_code == 1 and install_command("png") in done.stderr
    assert not (tmp_path / "a.png").exists()


def test_without_pillow_nothing_is_read(users: Simulator, invoke: Invoke, tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    before = len(users.calls)
    done = invoke("shards", "users", "--png", tmp_path / "a.png")
    assert done.exit_code == 1 and install_command("png") in done.stderr
    assert len(users.calls) == before
