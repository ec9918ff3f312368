"""`./dev` in a folder of its own: what it says where an install fails, and how .venv grows from the demo's to everything."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
EXPLAIN = ROOT / ".ci/explain_install.py"
OTHER_PYTHON = "PYTHON=/path/to/python3.12 ./dev"


@pytest.fixture(scope="module")
def explain() -> ModuleType:
    found = importlib.util.spec_from_file_location("explain_install", EXPLAIN)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


# From pip's logs, cut short.
CONFLICT = """\
2026-11-19T11:08:56 ERROR: Cannot install mkdocs-material==9.8.1 because these package versions have conflicting dependencies.
2026-11-19T11:08:56 The conflict is caused by:
    mkdocs-material 9.8.1 depends on pymdown-extensions>=11.0.1
    The user requested (constraint) pymdown-extensions==13.1
2026-11-19T11:08:56 ERROR: ResolutionImpossible: for help visit https://pip.pypa.io/
"""
PASSED_OVER = (
    "  Link requires a different Python (3.11.2 not in: '>=3.11.5'): https://files/pymdown_extensions-{}.whl\n"
)
BY_VERSION = """\
ERROR: Ignored the following versions that require a different python version: 13.1 Requires-Python >=3.11.5
ERROR: Could not find a version that satisfies the requirement pymdown-extensions==13.1 (from versions: 1.0.0, 12.3)
ERROR: No matching distribution found for pymdown-extensions==13.1
"""
RETRYING = "WARNING: Retrying (Retry(total=0)) after connection broken by "
NO_NETWORK = f"{RETRYING}'NewConnectionError'\nERROR: No matching distribution found for boto3>=1.44\n"
CERTIFICATE = (
    f"{RETRYING}'SSLError(CERTIFICATE_VERIFY_FAILED)'\nERROR: No matching distribution found for boto3>=1.44\n"
)
NO_INDEX = "ERROR: No matching distribution found for click==8.5.1 (from streamiter)\n"
BUILD = "error: subprocess-exited-with-error\nERROR: Failed building wheel for msgspec\n"
FULL = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"


@pytest.mark.parametrize(
    "told, package, why, what",
    [
        (PASSED_OVER.format("13.1-py3-none-any") + CONFLICT, "pymdown-extensions==13.1", "Python 3.11.2", OTHER_PYTHON),
        (BY_VERSION, "pymdown-extensions==13.1", "does not run on Python 3.11.2", OTHER_PYTHON),
        (PASSED_OVER.format("13.10-py3-none-any") + CONFLICT, "pymdown-extensions==13.1", "both", "PIP_INDEX_URL"),
        (NO_NETWORK, "boto3>=1.44", "could not reach the package index", "HTTPS_PROXY"),
        (CERTIFICATE, "boto3>=1.44", "certificate", "PIP_CERT=/path/to/certificates.pem ./dev"),
        (NO_INDEX, "click==8.5.1", "both", "PIP_NO_INDEX"),
        (BUILD, "msgspec", "could not build one", OTHER_PYTHON),
        (FULL, "a package", "the disk is full", "TMPDIR"),
        ("Killed\n", "a package", "pip says why above", "once more"),
    ],
)
def test_an_install_that_fails_is_explained(told, package, why, what, explain):
    happened, advice = explain.explain(told, "3.11.2")
    assert happened.startswith(f"pip could not install {package}: ")
    assert why in happened
    assert advice.startswith("to try: ")
    assert what in advice


@pytest.fixture
def clone(tmp_path):
    """What of a checkout ./dev reads, in a folder without a .venv."""
    for name in ("dev", "pyproject.toml", ".ci/constraints.txt", ".ci/explain_install.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def dev(clone: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    environment |= {"PIP_CONFIG_FILE": os.devnull, "PYTHON": sys.executable, **more}
    return subprocess.run(
        ["bash", str(clone / "dev"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=250,
        # Tests that run in the background have SIGINT ignored, and bash would keep to that.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


def test_it_names_the_package_that_could_not_be_installed_and_what_to_try(clone):
    done = dev(clone, "demo", PIP_NO_INDEX="1")
    assert done.returncode == 1
    *_, happened, advice, last = done.stderr.splitlines()
    assert happened.startswith("dev: pip could not install hatchling==")
    assert advice.startswith("dev: to try: see whether PIP_NO_INDEX")
    assert last == "dev: then run the same ./dev command again; .venv/install.log has all that pip did"
    assert (clone / ".venv/install.log").exists()
    assert not list((clone / ".venv").glob("made-*")), "the next ./dev has to begin anew"


# -- how .venv grows: with a python whose venv and pip only say what they were asked for

PYTHON = """\
#!/usr/bin/env bash
real={real} log={log}
case "$*" in
    *"-m venv --clear .venv") echo "venv" >>"$log"; rm -rf .venv; mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
    *"-m pip install"*) echo "pip ${{@: -1}}" >>"$log"; [ ! -e "$log.broken" ] || {{ echo "ERROR: broken"; exit 1; }} ;;
    *"-m benchmarks.environment" | *"-m tests.integration.node") echo "${{*:2}}" >>"$log" ;;
    *"-m streamiter.demo"* | *"-m pytest"*) echo "${{*:2}}" >>"$log" ;;
    *) exec "$real" "$@" ;;
esac
"""

PEERS = ["benchmarks.environment", "tests.integration.node"]  # what tests and benchmarks run beside


@pytest.fixture
def fake(clone, tmp_path_factory):
    """Gives a function that runs ./dev, and tells what it had done."""
    folder = tmp_path_factory.mktemp("fake")
    python, log = folder / "python3", folder / "log"
    python.write_text(PYTHON.format(real=sys.executable, log=log))
    python.chmod(0o755)

    def run(*arguments: str, breaks: bool = False) -> list[str]:
        log.write_text("")
        broken = folder / "log.broken"
        if breaks:
            broken.touch()
        done = dev(clone, *arguments, PYTHON=str(python))
        broken.unlink(missing_ok=True)
        assert done.returncode == (1 if breaks else 0), done.stderr
        return log.read_text().split("\n")[:-1]

    return run


def test_the_demo_installs_little_and_the_tests_add_the_rest(fake):
    assert fake("demo") == ["venv", "pip .[cli]", "streamiter.demo"]
    assert fake("demo") == ["streamiter.demo"]
    assert fake("test", "-x") == ["pip .[dev]", *PEERS, "pytest -x"]
    assert fake("test", "-x") == ["pytest -x"]
    assert fake("demo") == ["streamiter.demo"], "what has everything has what the demo needs"


def test_a_change_of_what_is_listed_is_installed_into_the_same_place(fake, clone):
    fake("test", "-x")
    with (clone / "pyproject.toml").open("a") as project:
        project.write("# more\n")
    assert fake("demo") == ["pip .[cli]", "streamiter.demo"]
    assert fake("test", "-x") == ["pip .[dev]", *PEERS, "pytest -x"]


def test_after_a_failed_install_the_demo_still_runs_and_the_rest_is_tried_again(fake):
    fake("demo")
    assert fake("test", "-x", breaks=True) == ["pip .[dev]"]
    assert fake("demo") == ["streamiter.demo"]
    assert fake("test", "-x") == ["pip .[dev]", *PEERS, "pytest -x"]


def test_what_was_never_whole_is_made_anew(fake):
    assert fake("demo", breaks=True) == ["venv", "pip .[cli]"]
    assert fake("demo") == ["venv", "pip .[cli]", "streamiter.demo"]


def test_what_depends_on_the_real_clock_runs_last_and_by_itself(fake):
    fake("demo")
    workers, realtime = "pytest -n 4 --dist loadgroup", "pytest -n 3 --dist loadgroup --realtime=only"
    assert fake("test", "tests/stream")[1 + len(PEERS) :] == [
        f"{workers} --realtime=never tests/stream",
        f"{realtime} tests/stream",
    ]
    assert fake("test", "-k", "close") == ["pytest -k close"], "one at a time, and those last: pytest sorts them so"
    assert fake("test", "--realtime=only") == [realtime]
    assert fake("test", "--realtime=only", "--last-failed") == ["pytest --realtime=only --last-failed"]
    assert fake("test", "--realtime=never") == [f"{workers} --realtime=never"]


def test_ctrl_c_in_an_install_says_so_and_blames_no_package(clone, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fake")
    python, log = folder / "python3", folder / "log"
    # As pip does on Ctrl-C: it says so, and ends with 1.
    stopped = 'kill -INT "$PPID"; echo "ERROR: Operation cancelled by user" >&2; exit 1'
    python.write_text(PYTHON.format(real=sys.executable, log=log).replace('echo "pip ', f'{stopped}; echo "pip '))
    python.chmod(0o755)
    done = dev(clone, "demo", PYTHON=str(python))
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == "dev: stopped; the next ./dev installs it"
    assert "could not install" not in done.stderr
