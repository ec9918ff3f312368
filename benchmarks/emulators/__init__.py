"""The emulators that are measured beside each other, and the client that asks them."""
