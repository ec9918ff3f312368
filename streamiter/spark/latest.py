"""Stub."""


def latest_per_key() -> None:
    raise NotImplementedError
