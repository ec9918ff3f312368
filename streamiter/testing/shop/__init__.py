"""The shop: a table of orders on the simulated service, which the demo and `streamiter simulate --orders` write."""
