"""What a query reads next, and in which parts: the side of the driver."""
