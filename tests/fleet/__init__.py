"""Simulated fleets: many engines in one process, over a made-up store, source and clocks; one seed replays all."""
