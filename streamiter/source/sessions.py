"""Sessions: boto3 sessions of our own making; what botocore loads for the first of them serves all of a process."""

from __future__ import annotations

from functools import cache
from typing import Any

import boto3
from botocore.loaders import Loader, create_loader
from botocore.session import get_session


def new_session(core: Any = None) -> Any:
    """A boto3 session, around botocore's own where one is given; credentials by boto3's own chain, as of now."""
    core = core or core_session()
    found: Any = boto3.session.Session(botocore_session=core)
    paths = core.get_component("data_loader").search_paths
    paths[:] = dict.fromkeys(paths)  # boto3 adds its own each time
    return found


def core_session() -> Any:
    """A session of botocore's. To load the models of services takes several times as long as all else about a client."""
    session: Any = get_session()
    session.register_component("data_loader", _models(session.get_config_variable("data_path")))
    return session


@cache
def _models(data_path: str | None) -> Loader:
    return create_loader(data_path)
