"""`streamiter tail`: what it prints, where it begins and ends, and that its token is never beyond what was printed."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from decimal import Decimal
from pathlib import Path

import pytest

from streamiter import DynamoDBStreams, Stream
from streamiter.testing import Simulator
from tests.cli.conftest import Invoke, command_line, environment, run, start, token_in
from tests.stream.helpers import in_order, write

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

            from streamiter.cli.commands import streamiter
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
    from streamiter.cli.lines import record_line
    from streamiter.cli.paint import Painter
    from streamiter.cli.values import to_json
    from streamiter.cli.where import parse_where
    from streamiter.record import Record
    from streamiter.shard import Rank

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


def test_who_may_read_the_token_stays_as_it_is(users: Simulator, invoke: Invoke, tmp_path: Path):
    file, other = tmp_path / "users.token", tmp_path / "other"
    invoke(*ALL, "--token-file", file, "-n", "1")
    file.chmod(0o600)
    other.write_text("mine")
    (tmp_path / ".users.token.new").symlink_to(other)
    invoke(*ALL, "--token-file", file, "-n", "1")
    assert file.stat().st_mode & 0o777 == 0o600 and token_in(file)["clock"] == 2
    assert other.read_text() == "mine", "somebody's link is not followed"


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
        "streamiter: the stream was disabled, and what it held is read to the end; enabling it again makes a new one, "
        "with the table's name: streamiter doctor tells how it stands\n"
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
    assert "stream." not in done.stderr and len(done.stderr.splitlines()) == 1
    done = invoke(*ALL, "--json", "--token-file", file, "--skip-gaps")
    assert (done.exit_code, keys_of(done.stdout)) == (0, ["ann", "fay"])
    (accepted,) = done.stderr.splitlines()
    assert accepted.startswith("streamiter: gap accepted: records of shard S2 after record ")
    assert accepted.endswith(" may be lost: the service has trimmed what comes next"), "nothing is left to do"


# -- how it ends, as a process


def lines_until(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


@pytest.mark.parametrize("number,code", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_however_it_is_stopped_nothing_is_skipped(served: Simulator, tmp_path: Path, number, code):
    served.shape("S1 ~ S2")
    for place in range(40):
        served.put(f"S{1 + place % 2}", key=f"k{place}")
    file = tmp_path / "token"
    arguments = ("tail", "users", "--json", "--from", "trim_horizon", "--token-file", file)
    with start(served, *arguments) as process:
        seen = lines_until(process, 40)
        process.send_signal(number)
        rest, errors = process.communicate(timeout=100)
    assert process.returncode == code, errors
    assert "Traceback" not in errors
    seen += rest.splitlines(keepends=True)
    served.put("S1", key="more")
    again = run(served, *arguments, "--until", "caught_up").stdout.splitlines()
    wanted = [record.key["id"] for record in in_order(served)]
    first, second = keys_of("".join(seen)), keys_of("\n".join(again))
    assert first == wanted[: len(first)]
    assert second == wanted[len(wanted) - len(second) :] and len(first) + len(second) >= len(wanted), "none is skipped"


@pytest.mark.parametrize("seed", range(3))
def test_killed_in_the_middle_of_printing_it_skips_nothing(served: Simulator, tmp_path: Path, seed):
    served.shape("S1 ~ S2 ~ S3")
    write(served, "S1", "S2", "S3", rounds=1500, every=0)
    file, printed = tmp_path / "token", tmp_path / "printed"
    arguments = ("tail", "users", "--json", "--from", "trim_horizon", "--until", "caught_up", "--token-file", file)
    with open(printed, "w") as out:
        process = start(served, *arguments, stdout=out)
        least = 200 + 40_000 * seed
        while printed.stat().st_size < least and process.poll() is None:
            time.sleep(0.002)
        process.kill()
        process.communicate()
    first = printed.read_text().split("\n")[:-1]  # the last line may be cut off
    again = run(served, *arguments).stdout
    wanted = [record.key["id"] for record in in_order(served)]
    done = keys_of("\n".join(first))
    assert done == wanted[: len(done)]
    rest = keys_of(again)
    assert rest == wanted[len(wanted) - len(rest) :] and len(done) + len(rest) >= len(wanted)


def test_a_reader_that_has_seen_enough_ends_it_quietly(served: Simulator, tmp_path: Path):
    served.shape("S1")
    write(served, "S1", rounds=3000, every=0)
    file = tmp_path / "token"
    process = start(served, "tail", "users", "--json", "--from", "trim_horizon", "--token-file", file)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(100) == 141
    assert process.stderr.read() == ""
    process.stderr.close()
    assert 0 <= token_in(file)["clock"] < 3000


def on_terminal(
    sim: Simulator, *arguments: object, until: str, then: int = signal.SIGINT, columns: int = 80
) -> tuple[str, int]:
    """What a command writes on a terminal of its own, until a text appears there; then it is stopped."""
    import fcntl
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = environment(AWS_ENDPOINT_URL=sim.endpoint_url, TERM="xterm-256color")
    process = subprocess.Popen(
        command_line(*arguments), stdin=slave, stdout=slave, stderr=slave, env=env, close_fds=True
    )
    os.close(slave)
    shown, since = b"", time.monotonic()
    while time.monotonic() - since < 120:
        if select.select([master], [], [], 0.1)[0]:
            try:
                shown += os.read(master, 65536)
            except OSError:
                break  # it ended, and with it the terminal
        if until.encode() in shown:
            process.send_signal(then)
            until = "\0"
    code = process.wait(100)
    os.close(master)
    return shown.decode(), code


def test_on_a_terminal_lines_are_cut_coloured_and_a_quiet_line_stands_below(served: Simulator):
    served.shape("S1")
    served.put("S1", key="ann", new={"id": "ann", "text": "x" * 300, "wide": "漢" * 100})
    shown, code = on_terminal(served, "tail", "users", "--from", "trim_horizon", until="waiting, the last change was")
    assert code == 130
    assert "\x1b[32mINSERT" in shown and "── 20" in shown
    plain = re.sub(r"\x1b\[[\d;]*[mK]", "", shown)
    (line,) = [line for line in re.split(r"[\r\n]+", plain) if "INSERT" in line]
    from rich.cells import cell_len

    assert cell_len(line) <= 80 and line.endswith("…")
    assert "Ctrl-C ends" in plain
    assert "Traceback" not in plain


def test_a_reader_that_goes_while_nothing_comes_is_noticed(served: Simulator):
    served.shape("S1")
    served.put("S1")
    process = start(served, "tail", "users", "--json", "--from", "trim_horizon")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(100) == 141, "though nothing more was ever printed"
    process.stderr.close()


def test_a_full_disk_ends_it_with_the_token_before(served: Simulator, tmp_path: Path):
    served.shape("S1")
    write(served, "S1", rounds=5, every=0)
    with open("/dev/full", "w") as full:
        process = start(served, *ALL, "--token-file", tmp_path / "token", stdout=full)
        _, errors = process.communicate(timeout=100)
    assert process.returncode == 1 and errors == "streamiter: standard output: No space left on device\n"
    assert "clock" not in token_in(tmp_path / "token"), "nothing was returned yet"


def test_where_the_output_knows_no_such_signs_they_are_replaced(served: Simulator):
    served.shape("S1")
    old, new = {"id": "a", "n": 1}, {"id": "a", "n": "é→"}
    served.put("S1", key="a", event="MODIFY", old=old, new=new)
    env = environment(AWS_ENDPOINT_URL=served.endpoint_url, PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    done = run(served, *ALL, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("n: 1 -> \\xe9->\n")


# -- errors


@pytest.mark.parametrize(
    "arguments,words",
    [
        (("tail", "nobody"), "there is no table nobody here; there are users"),
        (("tail", "user"), "did you mean users?"),
        (("tail", "dynamodb://a:b@users"), "user name or password"),
        (("tail", "users", "--profile", "nobody"), "there is no profile 'nobody'; there are: none"),
        (("tail", "users", "--endpoint-url", "nowhere"), "an endpoint URL is written http://HOST:PORT"),
        (("tail", "http://users"), "no source is called 'http'"),
    ],
)
def test_what_is_wrong_is_said_in_a_line_with_a_remedy(served: Simulator, arguments, words):
    done = run(served, *arguments)
    assert done.returncode == 1
    assert words in done.stderr and len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_debug_shows_the_traceback(served: Simulator):
    for arguments in (("tail", "nobody", "--debug"), ("--debug", "tail", "nobody")):
        done = run(served, *arguments)
        assert "Traceback" in done.stderr and "there is no table nobody" in done.stderr


def test_without_credentials_or_region_it_says_what_to_set(served: Simulator):
    env = environment()
    del env["AWS_ACCESS_KEY_ID"]
    done = run(served, "tail", "users", "--endpoint-url", served.endpoint_url, env=env)
    assert done.returncode == 1 and "--profile NAME" in done.stderr and "client=" not in done.stderr
    env = environment()
    del env["AWS_DEFAULT_REGION"]
    done = run(served, "tail", "users", env=env)
    assert done.returncode == 1 and "--region NAME" in done.stderr and "region=" not in done.stderr


def test_a_profile_brings_its_own_keys_region_and_endpoint(served: Simulator, tmp_path: Path):
    served.shape("S1")
    served.put("S1", key="ann")
    config = f"[profile dev]\nregion = us-east-1\nendpoint_url = {served.endpoint_url}\n"
    (tmp_path / "config").write_text(config + "aws_access_key_id = x\naws_secret_access_key = y\n")
    env = environment(AWS_CONFIG_FILE=str(tmp_path / "config"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        del env[name]
    done = run(served, *ALL, "--json", "--profile", "dev", env=env)
    assert done.returncode == 0, done.stderr
    assert keys_of(done.stdout) == ["ann"]
    assert "there are: dev" in run(served, *ALL, "--profile", "prod", env=env).stderr


def test_where_nobody_listens_it_does_not_take_a_minute(served: Simulator):
    since = time.monotonic()
    done = run(served, "tail", "users", "--endpoint-url", "http://127.0.0.1:9")
    assert done.returncode == 1
    assert "does anything listen there?" in done.stderr
    assert time.monotonic() - since < 45


def test_a_begin_that_is_yet_to_come_is_told(users: Simulator, invoke: Invoke):
    done = invoke("tail", "users", "--from", "in 5 s", "--until", "in 8 s")
    assert done.exit_code == 0 and done.stdout == ""
    assert re.fullmatch(
        r"streamiter: --from is yet to come: nothing before [-0-9]{10} [:0-9]{8} UTC is told\n", done.stderr
    )
