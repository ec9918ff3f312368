"""Stub."""


def as_variant() -> None:
    raise NotImplementedError
