from __future__ import annotations

import json
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

from streamiter import installing
from streamiter.errors import MissingExtra

ROOT = Path(__file__).parent.parent
PIP = f"{shlex.quote(sys.executable)} -m pip install"


@pytest.fixture
def origin(monkeypatch):
    """Says where pip has installed streamiter from."""

    def set_origin(written):
        found = SimpleNamespace(read_text=lambda name: None if written is None else json.dumps(written))
        monkeypatch.setattr(installing, "distribution", lambda name: found)

    return set_origin


@pytest.mark.parametrize(
    "written, command",
    [
        (None, "pip install 'streamiter[spark]'"),
        ({"url": "file:///home/ann/my%20code", "dir_info": {}}, f"{PIP} '/home/ann/my code[spark]'"),
        ({"url": "file:///src", "dir_info": {"editable": True}}, f"{PIP} -e '/src[spark]'"),
        (
            {"url": "file:///tmp/streamiter-0.1.0-py3-none-any.whl", "archive_info": {}},
            "pip install 'streamiter[spark] @ file:///tmp/streamiter-0.1.0-py3-none-any.whl'",
        ),
        ({"url": "https://example.com/x.git", "vcs_info": {"vcs": "git"}}, "pip install 'streamiter[spark]'"),
    ],
)
def test_the_command_fits_the_way_in_which_it_was_installed(written, command, origin):
    origin(written)
    assert installing.install_command("spark") == command


def test_where_it_runs_from_a_folder_and_is_not_installed_it_installs_from_there(monkeypatch):
    def is_not_there(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(installing, "distribution", is_not_there)
    assert installing.install_command("cli") == f"{PIP} -e {shlex.quote(f'{ROOT}[cli]')}"


def test_a_missing_extra_says_the_command(origin):
    origin(None)
    assert str(MissingExtra("pyspark", "spark")) == (
        "pyspark is not installed; to get it: pip install 'streamiter[spark]'"
    )


def test_the_command_of_this_checkout_is_one_that_pip_takes():
    """Without a network, and without doing it: pip reads the requirement, and finds this checkout."""
    command = installing.install_command("cli")
    told = subprocess.run(
        f"{command} --dry-run --no-deps --no-build-isolation --no-index --quiet",
        shell=True,
        capture_output=True,
        text=True,
        timeout=250,
        cwd="/",
    )
    assert told.returncode == 0, told.stderr
