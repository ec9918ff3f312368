"""Rules about writers at once: threads of one process, processes, and one that is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from streamiter.log import Log
from streamiter.testing.contract.probe import in_threads
from streamiter.testing.contract.rule import Rule, rule
from streamiter.testing.logs.rig import LogRig
from streamiter.testing.logs.sharing import all_of, entries, equal, expect, texts

THREADS, PROCESSES, APPENDS, BATCH = 6, 3, 12, 5
ACKED = 20  # appends of a process before it is killed
Written = list[tuple[int, int, str]]  # partition, number, payload


class _Look(NamedTuple):
    partition: int
    upto: int
    service_us: int


@rule()
def threads_write_side_by_side(rig: LogRig) -> None:
    """Of threads that append at once, each has its entries in its own order, under the numbers that it was given."""
    other = rig.another()
    found = in_threads(THREADS, partial(write, appends=APPENDS), (rig.log, other))
    _check(rig, found, THREADS)
    other.close()


@rule("url")
def processes_write_side_by_side(rig: LogRig) -> None:
    """Of processes that append at once, each has its entries in its own order, under the numbers that it was given."""
    running = [_start(rig, f"p{number}", APPENDS) for number in range(PROCESSES)]
    found = [_printed(process.communicate(timeout=120)[0]) for process in running]
    _check(rig, found, PROCESSES)


@rule("is_exact")
def looks_overlook_nothing_meanwhile(rig: LogRig) -> None:
    """While others append, no look tells a time at which an entry that it did not show is stamped earlier."""
    other, reader = rig.another(), rig.another()
    looks: list[_Look] = []
    with _writers(rig, other) as are_writing:
        behind = [0, 0, 0]
        while are_writing() or len(looks) < 30:
            for partition in range(3):
                records, is_tip, service_us = reader.read(partition, behind[partition], 100)
                behind[partition] = records[-1].number if records else behind[partition]
                if is_tip and service_us is not None:
                    looks.append(_Look(partition, behind[partition], service_us))
    stamps = [
        {record.number: record.created_us or 0 for record in all_of(rig.log, partition)} for partition in range(3)
    ]
    for look in looks:
        later = [us for number, us in stamps[look.partition].items() if number > look.upto]
        first_us = min(later, default=look.service_us)
        expect(first_us >= look.service_us, f"{look} overlooked one stamped at {first_us}")
    for of_one in stamps:
        expect(all(a <= b for a, b in pairwise(of_one[number] for number in sorted(of_one))), "a stamp runs back")
    other.close()
    reader.close()


@rule("url", "is_durable")
def a_killed_writer_loses_nothing(rig: LogRig) -> None:
    """What was acknowledged before a kill -9 is there; what was not is there once at most; the log can be written on."""
    process = _start(rig, "k", 0)
    assert process.stdout is not None
    acked: Written = []
    for _ in range(ACKED):
        acked += _printed(process.stdout.readline())
    process.kill()
    # By the same reader: what readline read ahead is in its buffer, and communicate() passes that over.
    acked += _printed(process.stdout.read().rpartition(b"\n")[0])
    process.communicate(timeout=60)
    rig.log.append(0, entries(["after"]))
    held = _held(rig.log)
    twice = [payload for payload, count in Counter(payload for _, _, payload in held).items() if count > 1]
    equal(twice, [], "entries that are there twice")
    expect(set(acked) <= set(held), "an entry that was acknowledged is not there")
    if rig.is_atomic:
        batches = Counter(payload.rpartition("/")[0] for _, _, payload in held if payload != "after")
        equal({name: count for name, count in batches.items() if count != BATCH}, {}, "appends that are there in part")


def write(log: Log, name: str, appends: int, tell: bool = False) -> Written:
    """Appends to one partition after the other, so often, or for ever; each append is told once it is acknowledged."""
    written: Written = []
    turn = 0
    while not appends or turn < appends:
        payloads = [f"{name}/{turn}/{place}" for place in range(BATCH)]
        numbers = log.append(turn % 3, entries(payloads))
        told = [(turn % 3, number, payload) for number, payload in zip(numbers, payloads, strict=True)]
        if tell:
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()
        else:
            written += told
        turn += 1
    return written


def _start(rig: LogRig, name: str, appends: int) -> subprocess.Popen[bytes]:
    assert rig.url is not None
    command = [sys.executable, "-m", "streamiter.testing.logs.writer", rig.url, name, str(appends)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **rig.environment})


def _printed(lines: bytes) -> Written:
    return [
        (partition, number, payload) for line in lines.splitlines() for partition, number, payload in json.loads(line)
    ]


@contextmanager
def _writers(rig: LogRig, other: Log) -> Iterator[Any]:
    """Threads that append, and processes where there can be any."""
    running = [] if rig.url is None else [_start(rig, f"w{number}", APPENDS) for number in range(2)]
    threads = [
        threading.Thread(target=write, args=(log, f"v{number}", 2 * APPENDS), daemon=True)
        for number, log in enumerate((rig.log, other, rig.log, other))
    ]
    for thread in threads:
        thread.start()
    yield lambda: any(thread.is_alive() for thread in threads) or any(process.poll() is None for process in running)
    for thread in threads:
        thread.join(120)
    for process in running:
        process.communicate(timeout=120)


def _held(log: Log) -> Written:
    return [
        (partition, record.number, text)
        for partition in range(3)
        for record, text in ((record, texts([record])[0]) for record in all_of(log, partition))
    ]


def _check(rig: LogRig, found: list[Written], writers: int) -> None:
    equal(len(found), writers, "writers that came to an end")
    held = _held(rig.log)
    equal(sorted(held), sorted(row for rows in found for row in rows), "what is there, and what was written")
    for rows in found:
        mine = set(rows)
        for partition in range(3):
            told = [row for row in rows if row[0] == partition]
            equal([row for row in held if row in mine and row[0] == partition], told, "a writer's entries, in order")


TOGETHER: tuple[Rule[LogRig], ...] = (
    threads_write_side_by_side,
    processes_write_side_by_side,
    looks_overlook_nothing_meanwhile,
    a_killed_writer_loses_nothing,
)
