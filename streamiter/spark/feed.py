"""Stub."""


def feed() -> None:
    raise NotImplementedError
