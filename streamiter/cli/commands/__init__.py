"""The commands of the command line, a file each: what a user types after `streamiter`."""
