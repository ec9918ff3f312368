"""The trampoline: what a child's process is at first: it tells the guard, takes its limits, and becomes the command.

Run by its path, with nothing of streamiter loaded: `python -I -S trampoline.py FD MEMORY COMMAND...`.
"""

import os
import resource
import signal
import sys


def main() -> None:
    """Becomes the command; 127 where that cannot be run, as in a shell."""
    guard, memory, *command = sys.argv[1:]
    # The pipe to the guard ends when all its writers are gone. So the guard knows this process before it hears of an end.
    os.write(int(guard), b"+%d\n" % os.getpid())
    os.close(int(guard))
    if int(memory):
        resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores; a command may count on them
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"ERROR: {command[0]} cannot be run: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(127)


if __name__ == "__main__":
    main()
