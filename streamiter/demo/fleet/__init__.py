"""The demo of a fleet: a topic in SQLite, three workers, one of them killed with kill -9; nothing is lost."""

WORK = "--work"  # the option with which the demo calls itself, for its workers
