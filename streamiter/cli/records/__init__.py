"""Records as lines and files: their values, their fields, and which of them are wanted."""
