"""Trouble that a test asks for: faults, lagging listings, odd pages, bad weather."""
