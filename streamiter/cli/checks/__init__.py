"""What doctor, shards and token find out about a stream."""
