"""An app's processor as a child: the same function, with its model, where=, middleware and on_error=, one shard a process."""
