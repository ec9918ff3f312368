"""Doing it: wishes into calls, answers into events, in the only room with threads."""

from streamiter.driving.driver import Driver as Driver
