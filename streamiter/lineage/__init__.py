"""Lineage: which shard may be read when: the graph of shards, and how it is discovered."""

from streamiter.lineage.agreement import agreeing_us as agreeing_us
from streamiter.lineage.discovery import EVERY_US as EVERY_US
from streamiter.lineage.discovery import GATHER_US as GATHER_US
from streamiter.lineage.discovery import HELD_GATHER_US as HELD_GATHER_US
from streamiter.lineage.discovery import Discovery as Discovery
from streamiter.lineage.graph import Lineage as Lineage
