"""The truth that the simulator holds: streams, shards, records, and how they come about."""
