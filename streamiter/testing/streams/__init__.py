"""The calls of DynamoDB Streams, answered by the simulator."""
