"""What goes wrong at will: faults, lagging listings, odd pages, bad weather."""
