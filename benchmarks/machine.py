"""The machine: its shape, which every absolute number belongs to."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.canned.process import ROOT


def shape() -> dict[str, Any]:
    """What the numbers were measured on, and how busy it was with other things."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),  # processes that wanted a core in the minute before
        "commit": _commit(),
    }


def describe(*machines: dict[str, Any]) -> str:
    """The shape in a line; of several cases on the same machine, with how busy it was from the least to the most."""
    lines: dict[str, list[float]] = {}
    for machine in machines:
        told = (
            f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gib']} GiB, {machine['system']}, "
            f"Python {machine['python']}"
        )
        lines.setdefault(told, []).append(machine["load"])
    return "; ".join(
        f"{told}, load {min(loads)}" + (f" to {max(loads)}" if max(loads) > min(loads) else "")
        for told, loads in lines.items()
    )


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _commit() -> str:
    """The commit, with a + where files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout.strip() or "unknown"
