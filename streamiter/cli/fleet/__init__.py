"""Fleets: what the commands for apps and their workers are made of."""
