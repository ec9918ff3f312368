"""Checking a store: tries every rule of the contract on a fresh rig, and gives the results."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from streamiter.testing.contract.check import Report, check_all
from streamiter.testing.stores.faulty import FAULTS
from streamiter.testing.stores.rig import StoreRig
from streamiter.testing.stores.rows import ROWS
from streamiter.testing.stores.together import TOGETHER


def check_store(make: Callable[[], AbstractContextManager[StoreRig]]) -> Report:
    """Tries every rule of stores on a rig of its own; raises ContractBroken at the first that is broken."""
    return check_all((*ROWS, *TOGETHER, *FAULTS), make)
