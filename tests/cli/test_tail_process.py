"""`streamiter tail` as a process: however it ends, its token is never beyond what was printed; mistakes are a line."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from streamiter.testing import Simulator
from tests.cli.conftest import environment, run, start, token_in
from tests.cli.terminal import on_terminal
from tests.cli.test_tail import ALL, keys_of
from tests.stream.helpers import in_order, write


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
        (("tail", "nobody"), "there is no table nobody in us-east-1 at http://127.0.0.1:"),
        (("tail", "user"), "did you mean users?"),
        (("tail", "dynamodb://a:b@users"), "user name or password"),
        (
            ("tail", "users", "--profile", "nobody"),
            "there is no profile 'nobody'; the profiles of your AWS configuration are: none",
        ),
        (("tail", "users", "--endpoint-url", "nowhere"), "an endpoint URL is written http://HOST:PORT"),
        (("tail", "http://users"), "'http' is not a source"),
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
    assert "are: dev" in run(served, *ALL, "--profile", "prod", env=env).stderr


@pytest.mark.realtime
def test_where_nobody_listens_it_does_not_take_a_minute(served: Simulator):
    since = time.monotonic()
    done = run(served, "tail", "users", "--endpoint-url", "http://127.0.0.1:9")
    assert done.returncode == 1
    assert "is the service there?" in done.stderr
    assert time.monotonic() - since < 45
