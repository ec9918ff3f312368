"""Screens that are drawn anew while a stream is watched."""
