"""Tables: an emulator of DynamoDB by others, for peers that keep their leases there; started for a case, on loopback alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.canned.wire import HOST
from tests.store.servers import free_port, wait_for


@contextmanager
def tables() -> Iterator[str]:
    """Ministack; gives its URL."""
    with tempfile.TemporaryDirectory(prefix="bench-tables-") as folder:
        port = free_port()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        environment |= {"BIND_HOST": HOST, "GATEWAY_PORT": str(port), "SERVICES": "dynamodb"}
        environment |= {"STATE_DIR": folder, "TMPDIR": folder, "LOG_LEVEL": "ERROR"}
        with Path(folder, "log.txt").open("wb") as log:
            command = [sys.executable, "-W", "ignore", "-m", "ministack"]
            process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
            try:
                wait_for(port, process)
                yield f"http://{HOST}:{port}"
            finally:
                process.kill()
                process.wait()
