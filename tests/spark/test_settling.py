"""Settling: a worker of Spark's takes what stays out of its garbage collection; other processes are left alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import gc
from streamiter.spark.tasks.settling import settle
settle()
first = gc.get_freeze_count()
kept = [[] for _ in range(1000)]
settle()
print(first > 10_000, gc.get_freeze_count() == first)
"""


@pytest.mark.parametrize("told, wanted", [({"SPARK_REUSE_WORKER": "1"}, "True True"), ({}, "False True")])
def test_once_in_a_process_that_spark_will_use_again(monkeypatch, told, wanted):
    monkeypatch.delenv("SPARK_REUSE_WORKER", raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == wanted
