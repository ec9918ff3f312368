"""The guard: a small process beside the daemon that ends the children if the daemon is killed.

It is run by its path, and loads nothing of streamiter: `python -I -S guard.py GRACE`. Its standard input names process groups:
`+123` began, `-123` ended. When its input ends, the daemon is gone, and the children see the end of their own input, too. The
guard kills each group that lives on for GRACE seconds.
"""

import os
import select
import signal
import sys

LOOK_SECONDS = 0.05


def main() -> None:
    """Waits until the daemon is gone; then ends what is left of its children."""
    # Ctrl-C reaches the daemon, too. The guard ends only when the daemon does.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
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
    except OSError:  # the group has ended
        return False
    return True


if __name__ == "__main__":
    main()
