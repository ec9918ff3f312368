"""How a part is read: the side of the executors."""
