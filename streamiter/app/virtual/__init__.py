"""Virtual time: an app's workers in one thread, each on an event loop of its own that never waits; a seed repeats all of it."""
