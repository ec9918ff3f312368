"""The guard: a small process beside the daemon that ends the children if the daemon is killed.

Run by its path, with nothing of streamiter loaded: `python -I -S guard.py GRACE`. It reads of process groups from standard
input: `+123` is one that began, `-123` one that ended. The end of input means that the daemon is gone: the children see the end
of their own input by then. What has not ended after so many seconds is killed.
"""

import os
import select
import signal
import sys

LOOK_SECONDS = 0.05


def main() -> None:
    """Until the daemon is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # they are the daemon's: it ends us by ending
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
    for _ in range(round(float(sys.argv[1]) / LOOK_SECONDS)):
        if not groups:
            return
        select.select((), (), (), LOOK_SECONDS)
        groups = {group for group in groups if _send(group, 0)}
    for group in groups:
        _send(group, signal.SIGKILL)


def _send(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except OSError:  # it has ended
        return False
    return True


if __name__ == "__main__":
    main()
