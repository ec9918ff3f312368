"""Beside a table: what calls keep and tell of it that is none of its items: backups, tags, policies, limits and their like."""
