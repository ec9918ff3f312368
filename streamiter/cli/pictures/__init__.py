"""Pictures of shards: trees in text, charts as SVG and PNG."""
