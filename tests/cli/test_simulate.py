"""`streamiter simulate`, as a process of its own, the way others use it."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from botocore.config import Config
from click.testing import CliRunner

from streamiter.cli.catalogue import streamiter
from streamiter.installing import install_command


@contextmanager
def simulate(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "streamiter", "simulate", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            url = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert url, line
            yield url[0], process
        finally:
            process.kill()


def client(service: str, url: str) -> Any:
    session = boto3.session.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1")
    return session.client(service, endpoint_url=url, config=Config(proxies={}, retries={"max_attempts": 0}))


TABLE: dict[str, Any] = {
    "TableName": "orders",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
}


def test_it_serves_tables_and_streams_until_it_is_told_to_stop():
    with simulate("--shape", "S0 => {S1, S2}", "--speed", "60") as (url, process):
        tables, streams = client("dynamodb", url), client("dynamodbstreams", url)
        assert streams.list_streams()["Streams"] == [], "it begins without any table"
        arn = tables.create_table(**TABLE)["TableDescription"]["LatestStreamArn"]
        tables.put_item(TableName="orders", Item={"id": {"S": "a"}})
        shards = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        assert len(shards) == 3
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_time_stands_still_when_told_and_calls_are_shown():
    with simulate("--stopped", "--limits", "--no-token", "-v") as (url, process):
        streams = client("dynamodbstreams", url)
        arn = client("dynamodb", url).create_table(**TABLE)["TableDescription"]["LatestStreamArn"]
        for _ in range(10):
            streams.describe_stream(StreamArn=arn)
        with pytest.raises(Exception, match="Rate exceeded"):
            streams.describe_stream(StreamArn=arn)
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        shown = process.stdout.read().splitlines()
    assert shown[0] == "CreateTable orders ok"
    assert shown[-1] == "DescribeStream orders ThrottlingException"


@pytest.mark.parametrize("options,token", [((), None), (("--token", "wind"), "wind"), (("--no-token",), "")])
def test_control_calls_need_the_token_that_it_prints(options: tuple[str, ...], token: str | None):
    with simulate(*options) as (url, process):
        if token is None:
            assert process.stdout is not None
            token = process.stdout.readline().rpartition(" ")[2].strip()
            assert len(token) >= 16
        for given, status in ((token, 200), *([("other", 403), ("", 403)] if token else [("", 200)])):
            connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
            headers = {"X-Amz-Target": "Simulator.Heal", "X-Simulator-Token": given}
            connection.request("POST", "/", b"{}", headers)
            answer = connection.getresponse()
            assert (answer.status, b"X-Simulator-Token" in answer.read().title()) == (status, status == 403)
            connection.close()


def test_ctrl_c_ends_it_although_a_call_is_stuck():
    """A signal while the service's lock is held for good: it is left all the same."""
    code = (
        "import threading, streamiter.testing.http.reception as reception\n"
        "def stuck(self, request):\n"
        "    with self.lock: print('stuck', flush=True), threading.Event().wait()\n"
        "reception.Reception.answer = stuck\n"
        "from streamiter.cli.commands import simulate; simulate._LEAVES_SECONDS = 0.2\n"
        "import sys; sys.argv = ['streamiter', 'simulate', '--port', '0', '--no-token']\n"
        "from streamiter.cli.main import main; main()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            host = process.stdout.readline().split()[-1].removeprefix("http://")
            with socket.create_connection(("127.0.0.1", int(host.rpartition(":")[2]))) as client:
                client.sendall(f"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n".encode())
                assert process.stdout.readline() == "stuck\n"
                process.send_signal(signal.SIGINT)
                assert process.wait(60) == 130
        finally:
            process.kill()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "streamiter", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=250)


def test_the_list_of_commands_loads_none_of_them():
    code = (
        "import sys; from streamiter.cli.catalogue import streamiter; "
        "streamiter(['--help'], standalone_mode=False); print('streamiter.cli.commands.simulate' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "simulate    Run a simulated DynamoDB" in done.stdout
    assert done.stdout.endswith("False\n")


def test_what_is_wrong_is_said_in_a_line():
    wrong = run("simulate", "--shape", "S0 =>")
    assert wrong.returncode == 2
    assert "Invalid value for --shape" in wrong.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        busy = run("simulate", "--port", port)
    assert busy.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use; name another port" in busy.stderr


@pytest.mark.parametrize(
    "options,words",
    [
        (["--port", "99999"], "0 to 65535"),
        (["--speed", "0"], "0<x<=1000000"),
        (["--account", "12"], "an account has 12 digits"),
        (["--speed", "1e300"], "0<x<=1000000"),
        (["--speed", "100000", "--roll-after", "1"], "at most 1000 times a second"),
        (["--roll-after", "0.001"], "the knob roll_after goes from 1"),
        (["--token", "a", "--no-token"], "exclude each other"),
    ],
)
def test_options_out_of_range_are_refused(options: list[str], words: str):
    wrong = CliRunner().invoke(streamiter, ["simulate", *options])
    assert (wrong.exit_code, type(wrong.exception)) == (2, SystemExit)
    assert words in wrong.stderr


@pytest.mark.parametrize("package,extra", [("click", "cli")])
def test_without_an_extra_it_says_how_to_get_it(package, extra):
    code = f"import sys; sys.modules[{package!r}] = None; sys.argv = ['streamiter', 'simulate', '--port', '0']; "
    code += "from streamiter.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 1
    assert install_command(extra) in done.stderr


def test_what_it_says_to_paste_works_where_nothing_of_aws_is_set_up(tmp_path):
    with simulate("--orders") as (url, process):
        assert process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(3)]
        assert lines[2] == "streamiter tail orders" and url in lines[0]
        ours = f"{sys.executable} -m {lines[2]} --from trim_horizon -n 1"
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"}
        script = "\n".join([*lines[:2], ours])
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=env, timeout=250, check=False)
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
