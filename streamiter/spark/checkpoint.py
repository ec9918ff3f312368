"""Stub."""


def token_from_checkpoint() -> None:
    raise NotImplementedError
