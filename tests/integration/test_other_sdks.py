"""The SDKs of other languages talk to the simulator with their defaults (`--real`): JavaScript's, and Go's.

Java's is in test_kcl.py. What they need is fetched by npm and Go, and kept inside .venv.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamiter.testing import RunningClock, Simulator

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

HERE = Path(__file__).parent / "sdk"
KEPT = Path(__file__).parent.parent.parent / ".venv"
PACKAGES = {"@aws-sdk/client-kinesis": "^3.900.0", "@aws-sdk/client-dynamodb": "^3.900.0"}


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator(table=None, ids="service", clock=RunningClock()) as made:
        yield made


def run(*command: str | Path, within: Path, seconds: float = 600) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        command, cwd=within, capture_output=True, text=True, check=False, timeout=seconds, env=environment
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout.splitlines()


def test_javascript_speaks_http_2(sim: Simulator):
    if shutil.which("npm") is None:
        pytest.skip("there is no Node (node and npm) on this machine")
    folder = KEPT / "node-sdk"
    folder.mkdir(exist_ok=True)
    (folder / "package.json").write_text(json.dumps({"private": True, "type": "module", "dependencies": PACKAGES}))
    shutil.copy(HERE / "kinesis.mjs", folder)
    run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", within=folder)
    assert run("node", "kinesis.mjs", sim.endpoint_url, within=folder, seconds=120) == [
        "handler NodeHttp2Handler",
        "polled [3,700000]",
        "sent [3,700000]",
        "missing ResourceNotFoundException",
        'item {"id":{"S":"a"}}',
    ]


def test_go_speaks_as_it_does(sim: Simulator):
    if shutil.which("go") is None:
        pytest.skip("there is no Go on this machine")
    folder = KEPT / "go-sdk"
    shutil.copytree(HERE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.mjs"))
    run("go", "mod", "tidy", within=folder)
    run("go", "build", "-o", "other", ".", within=folder)
    lines = run(folder / "other", sim.endpoint_url, within=folder, seconds=120)
    [history] = [sim.kinesis("go").history]
    polled = [f"polled {record.payload.decode()} {int(record.created_us or 0) // 1000}" for record in history]
    assert lines == [*polled, "sent one", "sent two", "missing true"]
