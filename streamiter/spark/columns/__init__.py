"""Records as columns, and columns as users want them."""
