"""Stub."""


def merge_delta() -> None:
    raise NotImplementedError
