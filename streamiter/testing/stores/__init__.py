"""Stores under test: the contract that every store keeps, and a connection that loses answers."""

from streamiter.testing.stores.check import check_store as check_store
from streamiter.testing.stores.proxy import LossyProxy as LossyProxy
from streamiter.testing.stores.rig import StoreRig as StoreRig
