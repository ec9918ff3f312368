"""`streamiter tail`: what it prints, where it begins and ends, and that its token is never beyond what was printed."""

from __future__ import annotations

import errno
import json
import os
import re
from decimal import Decimal
from pathlib import Path

import click
import pytest

from streamiter import DynamoDBStreams, Stream
from streamiter.cli.files.tokenfile import TokenFile
from streamiter.testing import Simulator
from tests.cli.conftest import Invoke, token_in

ALL = ("tail", "users", "--from", "trim_horizon", "--until", "caught_up")


def keys_of(lines: str) -> list[str]:
    return [json.loads(line)["key"]["id"] for line in lines.splitlines()]


@pytest.fixture
def users(sim: Simulator) -> Simulator:
    sim.shape("S0")
    sim.put("S0", key="ann", new={"id": "ann", "age": 30, "city": "Ulm"})
    sim.clock.advance(60)
    sim.split("S0", "S1", "S2")
    sim.put("S2", key="bob", new={"id": "bob", "age": 41})
    sim.clock.advance(60)
    old, new = {"id": "ann", "age": 30, "city": "Ulm"}, {"id": "ann", "age": 31, "vip": True}
    sim.put("S1", key="ann", event="MODIFY", old=old, new=new)
    sim.clock.advance(60)
    sim.put("S2", key="bob", event="REMOVE", old={"id": "bob", "age": 41}, user_identity=True)
    sim.clock.advance(60)
    return sim


def test_a_line_has_time_event_key_and_what_changed(users: Simulator, invoke: Invoke):
    done = invoke(*ALL)
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "2025-06-15T15:06:40Z  INSERT  ann  age=30  city=Ulm",
        "2025-06-15T15:07:40Z  INSERT  bob  age=41",
        "2025-06-15T15:08:40Z  MODIFY  ann  age: 30 → 31  vip=true  city=Ulm gone",
        "2025-06-15T15:09:40Z  REMOVE  bob  by its time to live  age=41",
    ]
    assert done.stderr == "", "no line at the foot where there is no terminal"


def test_a_number_that_became_a_text_shows_that_it_changed(sim: Simulator, invoke: Invoke):
    sim.shape("S0")
    old, new = {"id": "a", "n": 1, "l": [2], "m": "null"}, {"id": "a", "n": "1", "l": ["2"], "m": None}
    sim.put("S0", key="a", event="MODIFY", old=old, new=new)
    done = invoke(*ALL)
    assert done.stdout.splitlines()[0].endswith('MODIFY  a  n: 1 → "1"  l: [2] → ["2"]  m: "null" → null')


def test_json_has_all_of_a_record_and_keeps_every_digit(sim: Simulator, invoke: Invoke):
    sim.shape("S0")
    number = "1234567890123456789012345678901234567.8"
    image = {"id": "a", "n": Decimal(number), "b": b"\x00\xff", "set": {"y", "x"}, "deep": [{"m": None}]}
    sim.put("S0", key="a", new=image, user_identity={"type": "Service"})
    line = invoke(*ALL, "--json").stdout
    told = json.loads(line, parse_float=Decimal)
    assert told["new"] == {"id": "a", "n": Decimal(number), "b": "AP8=", "set": ["x", "y"], "deep": [{"m": None}]}
    assert f'"n":{number}' in line
    assert (told["event"], told["key"], told["old"], told["created_at"]) == (
        "INSERT",
        {"id": "a"},
        None,
        "2025-06-15T15:06:40Z",
    )
    assert (told["shard_id"], told["clock"], told["late"]) == ("S0", 1, False)
    assert told["user_identity"] == {"type": "Service"}
    with Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock) as stream:
        assert told["order_key"] == next(stream.follow()).order_key


EVIL = "\x1b[2Jmallory\x9b31m\r\n[bold]\u202eevil\x00\u2028"


@pytest.mark.parametrize("options", [(), ("--json",), ("--color", "always"), ("--full",)])
def test_nothing_in_a_record_steers_the_terminal(sim: Simulator, invoke: Invoke, options):
    sim.shape("S0")
    sim.put("S0", key=EVIL, new={"id": EVIL, EVIL: EVIL, "deep": {EVIL: [EVIL]}})
    sim.put(
        "S0", key=EVIL, event="MODIFY", old={"id": EVIL, EVIL: 1, "x": EVIL}, new={"id": EVIL, EVIL: EVIL, "b": EVIL}
    )
    out = invoke(*ALL, *options).stdout
    ours = re.sub(r"\x1b\[[\d;]*m", "", out) if "always" in options else out
    assert len(ours.splitlines()) == 2
    assert all(character.isprintable() or character == "\n" for character in ours)
    assert "[bold]" in ours, "markup is text"
    if options == ("--json",):
        assert json.loads(out.splitlines()[0])["key"]["id"] == EVIL


def test_keys_only_and_new_images_only(invoke: Invoke):
    for view, line in [("KEYS_ONLY", "MODIFY  a"), ("NEW_IMAGE", "MODIFY  a  n=2"), ("OLD_IMAGE", "MODIFY  a  n=1")]:
        with Simulator("S0", view=view) as sim:
            sim.put("S0", key="a", event="MODIFY", old={"id": "a", "n": 1}, new={"id": "a", "n": 2})
            from click.testing import CliRunner

            from streamiter.cli.catalogue import streamiter
            from streamiter.cli.setting import Setting

            setting = Setting(
                clock=sim.clock, find=lambda _, **__: DynamoDBStreams(sim.stream_arn, client=sim.client())
            )
            assert CliRunner().invoke(streamiter, [*ALL], obj=setting).stdout.rstrip().endswith(line)


def test_a_record_that_nobody_can_decode_is_told_of_and_passed(sim: Simulator, invoke: Invoke):
    sim.shape("S0")
    for image in ({"id": {"X": "1"}}, {"id": {"N": "many"}}, {"id": {}}, {"id": {"SS": 5}}, {"id": {"S": "good"}}):
        sim.put("S0", key={"id": {"S": "k"}}, new=image, typed=True)
    lines = invoke(*ALL).stdout.splitlines()
    bad = [record.sequence_number for record in sim.history][:4]
    assert [line.split("INSERT  ")[1].split(" cannot be read: ")[0] for line in lines[:4]] == [
        f"record {number} of S0" for number in bad
    ]
    assert len(lines) == 5
    told = [json.loads(line) for line in invoke(*ALL, "--json").stdout.splitlines()]
    assert [line["sequence_number"] for line in told if "error" in line] == bad
    assert len(invoke(*ALL, "--where", "new.id = good").stdout.splitlines()) == 5, "who knows whether they fit"


def test_a_stream_of_bytes_has_lines_too(invoke: Invoke):
    """What a source gives that is not a table's: partition keys, payloads."""
    from streamiter.cli.records.lines import record_line
    from streamiter.cli.records.values import to_json
    from streamiter.cli.terminal.paint import Painter
    from streamiter.record import Record
    from streamiter.shard import Rank
    from streamiter.where import parse_where

    class Bytes(Record):
        partition_key: str = "p1"
        payload: bytes = b""

    for payload, shown in ((b'{"a": "\x1b[2J"}', '{"a": "\\x1b[2J"}'), (b"\xff\x00", "<2 bytes /wA=>")):
        record = Bytes("S1", "1" * 21, 1_750_000_000_000_000)
        record.payload = payload
        record.late, record.clock, record.order_us, record.rank = False, 7, 1_750_000_000_000_000, Rank("S1", 0, "S1")
        line = Painter(coloured=False).line(record_line(record, dated=True))
        assert line == f"2025-06-15T15:06:40Z  p1  {shown}".replace("\\\\", "\\")
        assert json.loads(to_json(record))["key"] == {"partition_key": "p1"}
        assert parse_where("key = p1 and not event = INSERT and new.a != x")(record)


def test_from_and_until_are_times_too(users: Simulator, invoke: Invoke):
    assert keys_of(invoke("tail", "users", "--json", "--from", "3 minutes ago", "--until", "1 min ago").stdout) == [
        "bob",
        "ann",
    ]
    at = "2025-06-15 15:08:40"
    assert keys_of(invoke("tail", "users", "--json", "--from", at, "--until", "caught-up").stdout) == ["ann", "bob"]
    done = invoke("tail", "users", "--json", "--from", "trim-horizon", "--until", "in 5m")
    assert len(keys_of(done.stdout)) == 4
    wrong = invoke("tail", "users", "--from", "teatime")
    assert wrong.exit_code == 2
    assert "'teatime' is not a time: write '2 hours ago'" in wrong.stderr and len(wrong.stderr.splitlines()) == 1


def test_an_end_before_the_begin_is_a_mistake_but_where_a_place_is_kept(
    users: Simulator, invoke: Invoke, tmp_path: Path
):
    done = invoke("tail", "users", "--until", "1 min ago")
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    assert "--until (2025-06-15 15:09:40 UTC) has passed, and --from is latest: nothing lies between" in done.stderr
    done = invoke("tail", "users", "--from", "1 min ago", "--until", "3 min ago")
    assert done.exit_code == 2 and "is not after --from" in done.stderr
    file = tmp_path / "users.token"
    invoke(*ALL, "--token-file", file, "-n", "1")
    done = invoke("tail", "users", "--json", "--until", "1 min ago", "--token-file", file)
    assert done.exit_code == 0 and keys_of(done.stdout)


def test_where_and_limit_pick(users: Simulator, invoke: Invoke):
    assert keys_of(invoke(*ALL, "--json", "--where", "event = insert").stdout) == ["ann", "bob"]
    assert keys_of(invoke(*ALL, "--json", "--where", "key = ann and new.age > 30").stdout) == ["ann"]
    assert keys_of(invoke(*ALL, "--json", "-n", "3").stdout) == ["ann", "bob", "ann"]
    assert keys_of(invoke(*ALL, "--json", "-n", "1", "--where", "event = REMOVE").stdout) == ["bob"]


def test_a_wrong_where_has_a_caret_under_the_place(invoke: Invoke):
    done = invoke("tail", "users", "--where", "event = MODIFY and foo = 3")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[1:] == ["  event = MODIFY and foo = 3", "                     ^"]


# -- the token file


def test_it_goes_on_where_it_stopped(users: Simulator, invoke: Invoke, tmp_path: Path):
    file = tmp_path / "users.token"
    parts = [keys_of(invoke(*ALL, "--json", "--token-file", file, "-n", "1").stdout) for _ in range(3)]
    assert parts == [["ann"], ["bob"], ["ann"]]
    assert keys_of(invoke(*ALL, "--json", "--token-file", file).stdout) == ["bob"]
    assert invoke(*ALL, "--json", "--token-file", file).stdout == ""
    users.put("S1", key="cid")
    assert keys_of(invoke(*ALL, "--json", "--token-file", file).stdout) == ["cid"]
    assert os.listdir(tmp_path) == ["users.token"], "nothing is left beside it"


def test_what_where_leaves_out_is_passed_all_the_same(users: Simulator, invoke: Invoke, tmp_path: Path):
    file = tmp_path / "users.token"
    invoke(*ALL, "--where", "key = nobody", "--token-file", file)
    assert invoke(*ALL, "--token-file", file).stdout == ""


def test_latest_is_kept_before_anything_comes(users: Simulator, invoke: Invoke, tmp_path: Path):
    file = tmp_path / "users.token"
    assert invoke("tail", "users", "--until", "caught_up", "--token-file", file).stdout == ""
    users.put("S1", key="cid")
    assert keys_of(invoke("tail", "users", "--until", "caught_up", "--json", "--token-file", file).stdout) == ["cid"]


def test_a_token_file_that_is_none_is_told_and_left_alone(users: Simulator, invoke: Invoke, tmp_path: Path):
    for content, words in [
        ("{", "holds no JSON"),
        ("[]", "holds no token"),
        ("{}", "neither 'streamiter'"),
        ("\xff", "JSON"),
    ]:
        (tmp_path / "token").write_text(content)
        done = invoke(*ALL, "--token-file", tmp_path / "token")
        assert done.exit_code == 1 and words in done.stderr and len(done.stderr.splitlines()) == 1
        assert (tmp_path / "token").read_text() == content
    done = invoke(*ALL, "--token-file", "")
    assert done.exit_code == 1 and "has an empty name" in done.stderr
    done = invoke(*ALL, "--token-file", tmp_path / "no folder" / "token")
    assert done.exit_code == 1 and "cannot be written: No such file or directory" in done.stderr
    assert done.stdout == "", "told before anything is printed"


def test_a_place_that_cannot_be_kept_is_not_to_be_begun_anew_elsewhere(
    users: Simulator, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "users.token"
    remedies = {}
    for moment in ("first", "later"):
        for kind in (errno.ENOSPC, errno.EACCES):
            with monkeypatch.context() as patched:
                error = OSError(kind, os.strerror(kind))
                patched.setattr("streamiter.tokenfile.os.fsync", lambda _, error=error: (_ for _ in ()).throw(error))
                done = invoke(*ALL, "--token-file", file)
            assert done.exit_code == 1 and len(done.stderr.splitlines()) == (1 if moment == "first" else 2)
            remedies[moment, kind] = done.stderr.partition(f"{os.strerror(kind)}; ")[2].strip()
        invoke(*ALL, "--token-file", file, "-n", "1")
    assert remedies == {
        ("first", errno.ENOSPC): "make room, and run it again [TokenFileError]",
        ("first", errno.EACCES): "name another file [TokenFileError]",
        (
            "later",
            errno.ENOSPC,
        ): "make room, and run it again: it goes on from the place that is kept there [TokenFileError]",
        (
            "later",
            errno.EACCES,
        ): "see that it can be, or name a copy of it: it goes on from the place that is kept there [TokenFileError]",
    }


def test_who_may_read_the_token_stays_as_it_is(users: Simulator, invoke: Invoke, tmp_path: Path):
    file, other = tmp_path / "users.token", tmp_path / "other"
    invoke(*ALL, "--token-file", file, "-n", "1")
    file.chmod(0o600)
    other.write_text("mine")
    (tmp_path / ".users.token.new").symlink_to(other)
    invoke(*ALL, "--token-file", file, "-n", "1")
    assert file.stat().st_mode & 0o777 == 0o600 and token_in(file)["clock"] == 2
    assert other.read_text() == "mine", "somebody's link is not followed"


def test_of_two_that_keep_their_places_in_one_file_one_is_told(tmp_path: Path):
    file = tmp_path / "users.token"
    one, other = TokenFile(file), TokenFile(file)
    assert one.load() is None and other.load() is None
    one.save({"clock": 1})
    for clock in (1, 2):
        with pytest.raises(click.ClickException, match="another process has written to the token file .*users.token"):
            other.save({"clock": 7})
        assert token_in(file) == {"clock": clock}
        one.save({"clock": 2})
    file.unlink()
    one.save({"clock": 3})
    assert token_in(file) == {"clock": 3}


def test_a_link_stays_a_link(users: Simulator, invoke: Invoke, tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    invoke(*ALL, "--token-file", tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and token_in(tmp_path / "real")["clock"] == 4


@pytest.mark.parametrize(
    "words",
    [("tail", "users"), ("export", "users", "--to", "changes", "--format", "jsonl", "--follow"), ("top", "users")],
)
def test_what_would_go_on_says_why_it_ends(
    users: Simulator, invoke: Invoke, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    users.disable()
    done = invoke(*words, "--from", "trim_horizon")
    assert done.exit_code == 0, done.output
    assert done.stderr == (
        "streamiter: the stream was disabled, and all that it held is read; if the table has a new stream by "
        "now, its name means that one: streamiter doctor shows it\n"
    )
    assert invoke(*ALL).stderr == "", "it was to end"


def test_gaps_end_it_with_a_remedy_or_are_skipped(users: Simulator, invoke: Invoke, tmp_path: Path):
    file = tmp_path / "users.token"
    invoke(*ALL, "--token-file", file, "-n", "2")
    users.put("S2", key="eva")
    users.put("S2", key="fay")
    users.trim("S2", before=3)
    done = invoke(*ALL, "--json", "--token-file", file)
    assert (done.exit_code, keys_of(done.stdout)) == (1, []), "what is lost may come before what is held"
    assert "may be lost" in done.stderr and "--skip-gaps accepts that" in done.stderr
    assert "stream." not in done.stderr and len(done.stderr.splitlines()) == 2
    assert "--from counts for a first run only" in done.stderr.splitlines()[0]
    done = invoke(*ALL, "--json", "--token-file", file, "--skip-gaps")
    assert (done.exit_code, keys_of(done.stdout)) == (0, ["ann", "fay"])
    _, accepted = done.stderr.splitlines()
    assert accepted.startswith("streamiter: gap accepted: records of shard S2 after record ")
    assert accepted.endswith(" may be lost: the service has trimmed what comes next"), "nothing is left to do"


def test_a_begin_that_is_yet_to_come_is_told(users: Simulator, invoke: Invoke):
    done = invoke("tail", "users", "--from", "in 5 s", "--until", "in 8 s")
    assert done.exit_code == 0 and done.stdout == ""
    assert re.fullmatch(
        r"streamiter: --from is in the future: nothing comes before [-0-9]{10} [:0-9]{8} UTC\n", done.stderr
    )
