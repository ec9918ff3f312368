"""Where the command begins: without the extra it says how to get it, and nothing else."""

from __future__ import annotations

import sys


def main() -> None:
    """The console script."""
    try:
        from streamiter.cli.terminal import loading

        loading.leave_on_ctrl_c()
        from streamiter.cli.catalogue import streamiter
        from streamiter.cli.terminal.ending import stop_on_signals
        from streamiter.cli.terminal.outputs import open_closed_outputs
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("click", "rich"):
            raise
        from streamiter.installing import install_command

        sys.exit(f"streamiter: {error.name} is not installed; to get it: {install_command('cli')}")
    except KeyboardInterrupt:
        sys.exit(130)
    open_closed_outputs()
    stop_on_signals()
    try:
        streamiter(prog_name="streamiter")
    finally:
        loading.leave_on_ctrl_c()
