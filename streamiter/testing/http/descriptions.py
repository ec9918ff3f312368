"""Descriptions: what the services' own models say of their operations and shapes, as botocore brings them."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def description(service: str) -> dict[str, Any]:
    """The model of one service."""
    from botocore.loaders import Loader

    found: dict[str, Any] = Loader().load_service_model(service, "service-2")
    return found
