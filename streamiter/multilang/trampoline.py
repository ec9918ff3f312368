"""The trampoline: the first program of a child's process: tells the guard, sets its limits, and becomes the command.

It is run by its path, and loads nothing of streamiter: `python -I -S trampoline.py FD MEMORY COMMAND...`.
"""

import os
import resource
import signal
import sys


def main() -> None:
    """Becomes the command; exits with 127 if that cannot be run, as a shell does."""
    guard, memory, *command = sys.argv[1:]
    # The guard's input ends only when the last writer has closed it. We write before we close, so the guard knows this process
    # before it can see the daemon's end.
    os.write(int(guard), b"+%d\n" % os.getpid())
    os.close(int(guard))
    if int(memory):
        resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these; the command may count on them
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"ERROR: {command[0]} cannot be run: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(127)


if __name__ == "__main__":
    main()
