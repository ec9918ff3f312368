"""The lease: who reads what, decided purely: one worker's engine, from events to wishes."""

from streamiter.lease.engine import Engine as Engine
from streamiter.lease.lease import Lease as Lease
from streamiter.lease.lease import Worker as Worker
from streamiter.lease.pace import Pace as Pace
from streamiter.lease.shards import Shards as Shards
from streamiter.lease.ways import Order as Order
