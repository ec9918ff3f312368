"""A terminal of a command's own, and what it writes there."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time

from streamiter.testing import Simulator
from tests.cli.conftest import command_line, environment


def on_terminal(
    sim: Simulator,
    *arguments: object,
    until: str,
    then: int = signal.SIGINT,
    columns: int = 80,
    term: str = "xterm-256color",
) -> tuple[str, int]:
    """What a command writes on a terminal of its own, until a text appears there; then it is stopped."""
    import fcntl
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = environment(AWS_ENDPOINT_URL=sim.endpoint_url, TERM=term)
    process = subprocess.Popen(
        command_line(*arguments), stdin=slave, stdout=slave, stderr=slave, env=env, close_fds=True
    )
    os.close(slave)
    shown, since = b"", time.monotonic()
    while time.monotonic() - since < 120:
        if select.select([master], [], [], 0.1)[0]:
            try:
                shown += os.read(master, 65536)
            except OSError:
                break  # it ended, and with it the terminal
        if until.encode() in shown:
            process.send_signal(then)
            until = "\0"
    code = process.wait(100)
    os.close(master)
    return shown.decode(), code
